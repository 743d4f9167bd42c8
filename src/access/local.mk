noinst_LIBRARIES += src/access/libaccess.a
src_access_libaccess_a_SOURCES = \
  src/access/acl.h src/access/acl_set.cc \
  src/access/closest.h \
  src/access/domain_set.cc src/access/domain_set.h \
  src/access/facts.h \
  src/access/interval_set.h \
  src/access/matchers.h \
  src/access/matchers_address.cc \
  src/access/matchers_group.cc \
  src/access/matchers_host.cc \
  src/access/matchers_regex.cc \
  src/access/matchers_value.cc \
  src/access/network_set.cc src/access/network_set.h \
  src/access/pattern_set.cc src/access/pattern_set.h \
  src/access/regex_translate.cc src/access/regex_translate.h \
  src/access/rules.cc src/access/rules.h \
  src/access/settings.cc src/access/settings.h \
  src/access/types.cc

check_PROGRAMS += src/access/access_test
src_access_access_test_SOURCES = src/base/test_main.cc \
  src/access/acl_test.cc \
  src/access/allocation_count.cc \
  src/access/domain_set_test.cc \
  src/access/network_set_test.cc \
  src/access/pattern_set_test.cc \
  src/access/rules_test.cc \
  src/access/test_support.h
src_access_access_test_LDADD = $(LIBS_ACCESS) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)

noinst_PROGRAMS += test-suite/bench/access_bench
test_suite_bench_access_bench_SOURCES = test-suite/bench/access_bench.cc
test_suite_bench_access_bench_LDADD = $(LIBS_ACCESS) $(LOLIGO_SYSTEM_LIBS)
