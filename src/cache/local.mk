noinst_LIBRARIES += src/cache/libcache.a
src_cache_libcache_a_SOURCES = src/cache/arriving.cc src/cache/arriving.h src/cache/ban_keeper.cc src/cache/ban_keeper.h src/cache/bans.cc src/cache/bans.h src/cache/cache.cc src/cache/cache.h src/cache/cache_parts.cc src/cache/flights.cc src/cache/flights.h src/cache/inspection.cc src/cache/inspection.h src/cache/part_map.cc src/cache/part_map.h src/cache/recent_purges.h src/cache/refresh_patterns.cc src/cache/refresh_patterns.h src/cache/response.cc src/cache/response.h src/cache/selector.h src/cache/settings.cc src/cache/settings.h src/cache/sparse.cc src/cache/sparse.h src/cache/sparse_record.cc src/cache/store_events.cc src/cache/store_events.h src/cache/stored_form.cc src/cache/stored_form.h src/cache/tags.cc src/cache/tags.h

check_PROGRAMS += src/cache/cache_test
src_cache_cache_test_SOURCES = src/base/test_main.cc src/cache/cache_test.cc src/cache/stored_form_test.cc src/cache/bans_test.cc src/cache/part_map_test.cc src/cache/sparse_test.cc
src_cache_cache_test_LDADD = $(LIBS_CACHE) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
