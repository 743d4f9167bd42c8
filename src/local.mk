sbin_PROGRAMS += src/loligo
src_loligo_SOURCES = src/main.cc src/main_options.cc src/main_options.h src/process_control.cc src/process_control.h \
  src/process_control_pid.cc src/process_control_supervisor.cc src/service.cc src/service.h src/manager_room.cc src/manager_room.h src/worker_report.cc src/worker_report.h \
  src/snapshot_builder.cc src/snapshot_builder.h src/cache_dirs.cc src/cache_dirs.h src/object_rows.cc src/object_rows.h src/page_sender.cc src/page_sender.h
src_loligo_LDADD = src/libsettings.a $(LIBS_MGR) $(LOLIGO_SYSTEM_LIBS) $(JEMALLOC_LIBS)

check_PROGRAMS += src/main_test
src_main_test_SOURCES = src/base/test_main.cc src/main_options.cc src/main_options.h src/main_options_test.cc \
  src/process_control.cc src/process_control.h src/process_control_pid.cc src/process_control_supervisor.cc src/process_control_test.cc
src_main_test_LDADD = $(LIBS_BASE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)

# All rooms' settings together: the program, and the tests that read whole configurations.
noinst_LIBRARIES += src/libsettings.a
src_libsettings_a_SOURCES = src/settings.cc src/settings.h src/settings_checks.cc src/process_settings.cc

check_PROGRAMS += src/settings_test
src_settings_test_SOURCES = src/base/test_main.cc src/settings_test.cc
src_settings_test_LDADD = src/libsettings.a $(LIBS_MGR) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
