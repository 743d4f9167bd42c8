noinst_LIBRARIES += src/http/libhttp.a
src_http_libhttp_a_SOURCES = \
  src/http/cache_control.cc src/http/cache_control.h \
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
  src/http/uri.cc src/http/uri.h \
  src/http/vary.cc src/http/vary.h

check_PROGRAMS += src/http/http_test
src_http_http_test_SOURCES = src/base/test_main.cc
src_http_http_test_LDADD = $(LIBS_HTTP) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
