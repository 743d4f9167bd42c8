noinst_LIBRARIES += src/server/libserver.a
src_server_libserver_a_SOURCES = src/server/settings.cc src/server/settings.h

check_PROGRAMS += src/server/server_test
src_server_server_test_SOURCES = src/base/test_main.cc
src_server_server_test_LDADD = $(LIBS_SERVER) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
