noinst_LIBRARIES += src/http/libhttp.a
src_http_libhttp_a_SOURCES = \
  src/http/blanks.cc src/http/blanks.h \
  src/http/cache_control.cc src/http/cache_control.h src/http/cache_control_rows.h \
  src/http/cache_groups.cc src/http/cache_groups.h \
  src/http/cache_reason.h \
  src/http/chunked.cc src/http/chunked.h \
  src/http/conditional.cc src/http/conditional.h \
  src/http/date.cc src/http/date.h \
  src/http/field_id.cc src/http/field_id.h \
  src/http/framing.cc src/http/framing.h \
  src/http/freshness.cc src/http/freshness.h \
  src/http/head.cc src/http/head.h \
  src/http/hop_by_hop.cc src/http/hop_by_hop.h \
  src/http/range.cc src/http/range.h \
  src/http/scan.h \
  src/http/structured_field.cc src/http/structured_field.h \
  src/http/surrogate.cc src/http/surrogate.h \
  src/http/targeted.cc src/http/targeted.h \
  src/http/uri.cc src/http/uri.h \
  src/http/vary.cc src/http/vary.h

check_PROGRAMS += src/http/http_test
src_http_http_test_SOURCES = src/base/test_main.cc \
  src/http/blanks_test.cc \
  src/http/cache_control_test.cc \
  src/http/cache_groups_test.cc \
  src/http/cache_reason_test.cc \
  src/http/chunked_test.cc \
  src/http/conditional_test.cc \
  src/http/corpus_test.cc \
  src/http/date_test.cc \
  src/http/framing_test.cc \
  src/http/freshness_rules_test.cc \
  src/http/freshness_test.cc \
  src/http/head_test.cc \
  src/http/range_test.cc \
  src/http/surrogate_test.cc \
  src/http/targeted_test.cc \
  src/http/test_head.h \
  src/http/uri_test.cc \
  src/http/vary_test.cc
src_http_http_test_LDADD = $(LIBS_HTTP) $(UNIT_TEST_LIBS) -lboost_json $(LOLIGO_SYSTEM_LIBS)

noinst_PROGRAMS += test-suite/bench/http_bench
test_suite_bench_http_bench_SOURCES = test-suite/bench/http_bench.cc
test_suite_bench_http_bench_LDADD = $(LIBS_HTTP) $(LOLIGO_SYSTEM_LIBS)
