noinst_LIBRARIES += src/client/libclient.a
src_client_libclient_a_SOURCES = src/client/clients.cc src/client/clients.h src/client/connection.cc src/client/connection.h \
  src/client/connection_output.cc src/client/connection_output.h src/client/header_rules.cc src/client/header_rules.h \
  src/client/explain.cc src/client/explain.h src/client/explain_text.cc src/client/explain_text.h src/client/found_word.h src/client/listener.cc src/client/listener.h src/client/reason.h src/client/snapshot.cc src/client/snapshot.h \
  src/client/target.cc src/client/target.h src/client/transaction.cc src/client/transaction.h src/client/transaction_fetch.cc \
  src/client/transaction_flight.h src/client/transaction_log.cc src/client/transaction_parts.cc src/client/transaction_reply.cc src/client/transaction_rules.cc src/client/transaction_purge.cc src/client/transaction_special.cc \
  src/client/transaction_tunnel.cc src/client/tunnel_peer.cc src/client/tunnel_peer.h src/client/worker.cc src/client/worker.h \
  src/client/settings.cc src/client/settings.h src/client/port_options.cc src/client/port_options.h \
  src/client/error_page.cc src/client/error_page.h src/client/error_page_language.cc \
  src/client/error_page_table.cc src/client/error_page_table.h src/client/error_page_template.cc src/client/error_page_template.h

check_PROGRAMS += src/client/client_test
src_client_client_test_SOURCES = src/base/test_main.cc src/client/error_page_test.cc src/client/header_rules_test.cc \
  src/client/target_test.cc src/client/worker_test.cc
src_client_client_test_LDADD = $(LIBS_CLIENT) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)

# Translated error pages; the English ones are built in.
errorsdedir = $(pkgdatadir)/errors/de
dist_errorsde_DATA = etc/errors/de/ERR_ACCESS_DENIED \
  etc/errors/de/ERR_CACHE_ACCESS_DENIED \
  etc/errors/de/ERR_CANNOT_FORWARD \
  etc/errors/de/ERR_CONNECT_FAIL \
  etc/errors/de/ERR_DNS_FAIL \
  etc/errors/de/ERR_INVALID_REQ \
  etc/errors/de/ERR_INVALID_URL \
  etc/errors/de/ERR_READ_TIMEOUT \
  etc/errors/de/ERR_TOO_BIG \
  etc/errors/de/ERR_ZERO_SIZE_OBJECT
errorsfrdir = $(pkgdatadir)/errors/fr
dist_errorsfr_DATA = etc/errors/fr/ERR_ACCESS_DENIED \
  etc/errors/fr/ERR_CACHE_ACCESS_DENIED \
  etc/errors/fr/ERR_CANNOT_FORWARD \
  etc/errors/fr/ERR_CONNECT_FAIL \
  etc/errors/fr/ERR_DNS_FAIL \
  etc/errors/fr/ERR_INVALID_REQ \
  etc/errors/fr/ERR_INVALID_URL \
  etc/errors/fr/ERR_READ_TIMEOUT \
  etc/errors/fr/ERR_TOO_BIG \
  etc/errors/fr/ERR_ZERO_SIZE_OBJECT
