noinst_LIBRARIES += src/mgr/libmgr.a
src_mgr_libmgr_a_SOURCES = src/mgr/settings.cc src/mgr/settings.h src/mgr/manager.cc src/mgr/manager.h \
  src/mgr/history.cc src/mgr/history.h src/mgr/explain_query.cc src/mgr/explain_query.h src/mgr/pages_explain.cc src/mgr/request.cc src/mgr/request.h src/mgr/sources.h src/mgr/process_facts.cc \
  src/mgr/pages.h src/mgr/pages_counters.cc src/mgr/pages_info.cc src/mgr/pages_traffic.cc src/mgr/pages_stock.cc src/mgr/pages_objects.cc src/mgr/pages_bans.cc src/mgr/pages_reasons.cc \
  src/mgr/pages_process.cc

check_PROGRAMS += src/mgr/mgr_test
src_mgr_mgr_test_SOURCES = src/base/test_main.cc src/mgr/mgr_test.cc
src_mgr_mgr_test_LDADD = $(LIBS_MGR) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
