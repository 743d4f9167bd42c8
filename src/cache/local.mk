noinst_LIBRARIES += src/cache/libcache.a
src_cache_libcache_a_SOURCES = src/cache/settings.cc src/cache/settings.h

check_PROGRAMS += src/cache/cache_test
src_cache_cache_test_SOURCES = src/base/test_main.cc
src_cache_cache_test_LDADD = $(LIBS_CACHE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
