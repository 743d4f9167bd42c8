noinst_LIBRARIES += store/libstore.a
store_libstore_a_SOURCES = store/settings.cc store/settings.h store/body.cc store/body.h store/policy.cc store/policy.h store/policy_adaptive.cc store/policy_adaptive.h store/object.h store/observer.h store/memory.cc store/memory.h \
  store/disk/disk.cc store/disk/disk.h store/disk/directory.cc store/disk/directory.h store/disk/core.cc store/disk/core.h \
  store/disk/files.cc store/disk/files.h store/disk/note.cc store/disk/note.h store/disk/format.cc store/disk/format.h store/disk/segment.cc store/disk/segment.h \
  store/disk/table.cc store/disk/table.h store/disk/index.cc store/disk/index.h store/disk/index_env.cc store/disk/index_env.h \
  store/disk/appender.cc store/disk/appender.h store/disk/pending.h store/disk/writer.cc store/disk/writer.h store/disk/writer_store.cc \
  store/disk/syncer.cc store/disk/syncer.h store/disk/record_reader.cc store/disk/record_reader.h store/disk/read_pool.cc store/disk/read_pool.h \
  store/disk/file_body.cc store/disk/file_body.h store/disk/finder.cc store/disk/finder.h store/disk/loader.cc store/disk/loader.h \
  store/disk/reclaimer.cc store/disk/reclaimer.h store/disk/carry_over.cc store/disk/carry_over.h store/disk/reporter.cc store/disk/reporter.h

check_PROGRAMS += store/store_test store/disk/disk_test store/disk/disk_fault_test store/disk/reclaimer_test store/disk/reporter_test store/disk/segment_test store/disk/table_test
store_store_test_SOURCES = src/base/test_main.cc store/store_test.cc
store_store_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_segment_test_SOURCES = src/base/test_main.cc store/disk/segment_test.cc store/disk/note_test.cc store/disk/simulated_files.h
store_disk_segment_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_table_test_SOURCES = src/base/test_main.cc store/disk/table_test.cc
store_disk_table_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_disk_test_SOURCES = src/base/test_main.cc store/disk/disk_test.cc store/disk/test_support.h store/disk/simulated_files.h
store_disk_disk_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_reclaimer_test_SOURCES = src/base/test_main.cc store/disk/reclaimer_test.cc store/disk/test_support.h
store_disk_reclaimer_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_reporter_test_SOURCES = src/base/test_main.cc store/disk/reporter_test.cc store/disk/test_support.h
store_disk_reporter_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
store_disk_disk_fault_test_SOURCES = src/base/test_main.cc store/disk/disk_fault_test.cc store/disk/test_support.h store/disk/simulated_files.h
store_disk_disk_fault_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)

noinst_PROGRAMS += test-suite/bench/disk_bench
test_suite_bench_disk_bench_SOURCES = test-suite/bench/disk_bench.cc
test_suite_bench_disk_bench_LDADD = $(LIBS_STORE) $(LOLIGO_SYSTEM_LIBS) $(JEMALLOC_LIBS)

check_PROGRAMS += store/policy_test test-suite/bench/policy_simulation_test
store_policy_test_SOURCES = src/base/test_main.cc store/policy_test.cc
store_policy_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)

noinst_PROGRAMS += test-suite/bench/policy_trace
POLICY_SIMULATION = test-suite/bench/policy_simulation.cc test-suite/bench/policy_simulation.h test-suite/bench/policy_workload.cc test-suite/bench/policy_workload.h
test_suite_bench_policy_trace_SOURCES = test-suite/bench/policy_trace.cc $(POLICY_SIMULATION)
test_suite_bench_policy_trace_LDADD = $(LIBS_STORE) $(LOLIGO_SYSTEM_LIBS)
test_suite_bench_policy_simulation_test_SOURCES = src/base/test_main.cc test-suite/bench/policy_simulation_test.cc $(POLICY_SIMULATION)
test_suite_bench_policy_simulation_test_LDADD = $(LIBS_STORE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
