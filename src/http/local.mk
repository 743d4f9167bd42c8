noinst_LIBRARIES += src/http/libhttp.a
src_http_libhttp_a_SOURCES =

check_PROGRAMS += src/http/http_test
src_http_http_test_SOURCES = src/base/test_main.cc
src_http_http_test_LDADD = $(LIBS_HTTP) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
