# Programs of their own. loligoclient uses base and http, nothing of the proxy.
noinst_LIBRARIES += helpers/libhelpers.a
helpers_libhelpers_a_SOURCES = helpers/client_options.cc helpers/client_options.h helpers/client_request.cc helpers/client_request.h \
  helpers/reply_watch.cc helpers/reply_watch.h helpers/client_stream.cc helpers/client_stream.h \
  helpers/client_exchange.cc helpers/client_exchange.h helpers/client_ping.cc helpers/client_ping.h

bin_PROGRAMS += helpers/loligoclient
helpers_loligoclient_SOURCES = helpers/loligoclient.cc
helpers_loligoclient_LDADD = helpers/libhelpers.a $(LIBS_HTTP) $(LOLIGO_SYSTEM_LIBS)

check_PROGRAMS += helpers/helpers_test
helpers_helpers_test_SOURCES = src/base/test_main.cc helpers/client_options_test.cc helpers/client_request_test.cc \
  helpers/reply_watch_test.cc helpers/client_exchange_test.cc
helpers_helpers_test_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SUITE=\"$(abs_top_srcdir)/test-suite\"
helpers_helpers_test_LDADD = helpers/libhelpers.a $(LIBS_HTTP) $(UNIT_TEST_LIBS) -lboost_json $(LOLIGO_SYSTEM_LIBS)
