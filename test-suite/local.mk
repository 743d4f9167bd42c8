# Tests of the whole, and the data they use. Unit tests stand beside the code; each program reports in the short form
# that test-suite/unit_tests.py counts.
AM_TESTS_ENVIRONMENT = BOOST_TEST_REPORT_LEVEL=short; export BOOST_TEST_REPORT_LEVEL; \
  BOOST_TEST_COLOR_OUTPUT=no; export BOOST_TEST_COLOR_OUTPUT;

EXTRA_DIST += bootstrap.sh .ci/run \
  test-suite/unit_tests.py test-suite/tree_check.py \
  test-suite/bench/peerbench.py test-suite/bench/disk_bench.py test-suite/bench/floor.c test-suite/badhttp test-suite/manager test-suite/peering test-suite/scenarios test-suite/model test-suite/fuzz

check_PROGRAMS += test-suite/conf_corpus_test
test_suite_conf_corpus_test_SOURCES = src/base/test_main.cc test-suite/conf_corpus_test.cc
test_suite_conf_corpus_test_CPPFLAGS = $(AM_CPPFLAGS) -DTOP_SRCDIR=\"$(abs_top_srcdir)\"
test_suite_conf_corpus_test_LDADD = src/libsettings.a $(LIBS_MGR) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
