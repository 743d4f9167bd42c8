noinst_LIBRARIES += src/mgr/libmgr.a
src_mgr_libmgr_a_SOURCES = src/mgr/settings.cc src/mgr/settings.h

check_PROGRAMS += src/mgr/mgr_test
src_mgr_mgr_test_SOURCES = src/base/test_main.cc
src_mgr_mgr_test_LDADD = $(LIBS_MGR) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
