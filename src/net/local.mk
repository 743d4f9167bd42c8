noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES = src/net/settings.cc src/net/settings.h src/net/tls_options.cc src/net/tls_options.h \
  src/net/loop.cc src/net/loop.h src/net/stream.cc src/net/stream.h src/net/tls_settings.h \
  src/net/address.cc src/net/address.h src/net/dns.cc src/net/dns.h src/net/dns_answer.h src/net/dns_cache.h \
  src/net/dns_channel.cc src/net/dns_channel.h src/net/dns_job.cc src/net/dns_reply.cc src/net/dns_reply.h \
  src/net/dns_state.h src/net/dns_statistics.cc src/net/hosts_file.cc src/net/hosts_file.h \
  src/net/tls.h src/net/tls_context.cc src/net/tls_context.h src/net/tls_files.cc src/net/tls_openssl.h \
  src/net/tls_stream.cc src/net/tls_tickets.cc src/net/tls_tickets.h src/net/tls_words.cc

check_PROGRAMS += src/net/net_test
src_net_net_test_SOURCES = src/base/test_main.cc src/net/loop_test.cc src/net/address_test.cc src/net/dns_test.cc \
  src/net/hosts_file_test.cc src/net/tls_test.cc
src_net_net_test_LDADD = $(LIBS_NET) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
