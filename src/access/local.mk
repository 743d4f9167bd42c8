noinst_LIBRARIES += src/access/libaccess.a
src_access_libaccess_a_SOURCES =

check_PROGRAMS += src/access/access_test
src_access_access_test_SOURCES = src/base/test_main.cc
src_access_access_test_LDADD = $(LIBS_ACCESS) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
