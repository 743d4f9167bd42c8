noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES = src/net/loop.cc src/net/loop.h src/net/stream.cc src/net/stream.h src/net/tls_settings.h \
  src/net/address.cc src/net/address.h

check_PROGRAMS += src/net/net_test
src_net_net_test_SOURCES = src/base/test_main.cc src/net/loop_test.cc src/net/address_test.cc
src_net_net_test_LDADD = $(LIBS_NET) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
