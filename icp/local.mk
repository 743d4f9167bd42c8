noinst_LIBRARIES += icp/libicp.a
icp_libicp_a_SOURCES = icp/peers.cc icp/peers.h icp/selection.cc icp/selection.h icp/settings.cc icp/settings.h icp/peer_options.cc icp/peer_options.h

check_PROGRAMS += icp/icp_test
icp_icp_test_SOURCES = src/base/test_main.cc icp/selection_test.cc
icp_icp_test_LDADD = $(LIBS_ICP) $(UNIT_TEST_LIBS) $(LOLIGO_SYSTEM_LIBS)
