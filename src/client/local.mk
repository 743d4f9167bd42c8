noinst_LIBRARIES += src/client/libclient.a
src_client_libclient_a_SOURCES =

check_PROGRAMS += src/client/client_test
src_client_client_test_SOURCES = src/base/test_main.cc
src_client_client_test_LDADD = $(LIBS_CLIENT) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
