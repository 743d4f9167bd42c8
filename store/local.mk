noinst_LIBRARIES += store/libstore.a
store_libstore_a_SOURCES = store/settings.cc store/settings.h store/body.cc store/body.h store/policy.cc store/policy.h store/object.h store/memory.cc store/memory.h

check_PROGRAMS += store/store_test
store_store_test_SOURCES = src/base/test_main.cc store/store_test.cc
store_store_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
