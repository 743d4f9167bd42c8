noinst_LIBRARIES += src/server/libserver.a
src_server_libserver_a_SOURCES = src/server/base64.cc src/server/base64.h src/server/connection.h src/server/connector.cc src/server/connector.h \
  src/server/fetch.cc src/server/fetch.h src/server/fetch_reply.cc src/server/fetch_request.cc src/server/pool.cc src/server/pool.h src/server/range_feed.cc src/server/range_feed.h \
  src/server/relay.cc src/server/relay.h src/server/request_body.h src/server/upstream.cc src/server/upstream.h \
  src/server/settings.cc src/server/settings.h

check_PROGRAMS += src/server/server_test
src_server_server_test_SOURCES = src/base/test_main.cc src/server/connector_test.cc src/server/fetch_test.cc \
  src/server/pool_test.cc src/server/relay_test.cc src/server/request_body_test.cc src/server/test_support.h
src_server_server_test_LDADD = $(LIBS_SERVER) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
