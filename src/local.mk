sbin_PROGRAMS += src/loligo
src_loligo_SOURCES = src/main.cc
src_loligo_LDADD = $(LIBS_MGR) $(LOLIGO_SYSTEM_LIBS)

check_PROGRAMS += src/main_test
src_main_test_SOURCES = src/base/test_main.cc src/main_options.cc src/main_options.h src/main_options_test.cc \
  src/process_control.cc src/process_control.h src/process_control_pid.cc src/process_control_supervisor.cc src/process_control_test.cc
src_main_test_LDADD = $(LIBS_BASE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
