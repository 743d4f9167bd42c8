noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES =

check_PROGRAMS += src/net/net_test
src_net_net_test_SOURCES = src/base/test_main.cc
src_net_net_test_LDADD = $(LIBS_NET) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
