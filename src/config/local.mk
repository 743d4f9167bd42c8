noinst_LIBRARIES += src/config/libconfig.a
src_config_libconfig_a_SOURCES =

check_PROGRAMS += src/config/config_test
src_config_config_test_SOURCES = src/base/test_main.cc
src_config_config_test_LDADD = $(LIBS_CONFIG) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
