noinst_LIBRARIES += store/libstore.a
store_libstore_a_SOURCES =

check_PROGRAMS += store/store_test
store_store_test_SOURCES = src/base/test_main.cc
store_store_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
