noinst_LIBRARIES += src/log/liblog.a
src_log_liblog_a_SOURCES = src/log/access_log.cc src/log/access_log.h src/log/buffer.h src/log/encode.cc src/log/encode.h \
  src/log/event_log.cc src/log/event_log.h src/log/fields.cc src/log/fields.h src/log/file_sink.cc src/log/file_sink.h \
  src/log/format.cc src/log/format.h src/log/format_codes.cc src/log/format_codes.h src/log/format_compiler.cc \
  src/log/native.cc src/log/record.cc src/log/record.h src/log/settings.cc src/log/settings.h src/log/sink.h src/log/store_log.cc src/log/store_log.h \
  src/log/socket_sink.cc src/log/socket_sink.h src/log/target.cc src/log/target.h src/log/writer.cc src/log/writer.h

check_PROGRAMS += src/log/log_test
src_log_log_test_SOURCES = src/base/test_main.cc src/log/format_test.cc src/log/settings_test.cc src/log/writer_test.cc \
  src/log/access_log_test.cc src/log/store_log_test.cc src/log/event_log_test.cc src/log/test_files.h
src_log_log_test_LDADD = $(LIBS_LOG) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
