noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_SOURCES = src/base/allocator.cc src/base/allocator.h src/base/event_log.cc src/base/event_log.h src/base/text.h src/base/clock.h src/base/counters.h src/base/ref.h

check_PROGRAMS += src/base/base_test
src_base_base_test_SOURCES = src/base/test_main.cc src/base/text_test.cc
src_base_base_test_LDADD = $(LIBS_BASE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
