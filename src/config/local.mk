noinst_LIBRARIES += src/config/libconfig.a
src_config_libconfig_a_SOURCES = src/config/problem.cc src/config/problem.h src/config/directive.h src/config/bind.h \
  src/config/source.cc src/config/source.h src/config/lines.cc src/config/lines.h src/config/macros.cc src/config/macros.h \
  src/config/conditionals.cc src/config/conditionals.h src/config/words.cc src/config/words.h \
  src/config/directive_index.cc src/config/directive_index.h src/config/reader.cc src/config/reader.h \
  src/config/values.cc src/config/values.h src/config/apply.cc src/config/apply.h src/config/manual.cc src/config/manual.h src/config/known_directives.cc src/config/known_directives.h

check_PROGRAMS += src/config/config_test
src_config_config_test_SOURCES = src/base/test_main.cc src/config/lines_test.cc src/config/reader_test.cc src/config/words_test.cc src/config/values_test.cc src/config/bind_test.cc
src_config_config_test_LDADD = $(LIBS_CONFIG) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
