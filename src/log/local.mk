noinst_LIBRARIES += src/log/liblog.a
src_log_liblog_a_SOURCES =

check_PROGRAMS += src/log/log_test
src_log_log_test_SOURCES = src/base/test_main.cc
src_log_log_test_LDADD = $(LIBS_LOG) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
