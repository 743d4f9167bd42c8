sbin_PROGRAMS += src/loligo
src_loligo_SOURCES = src/main.cc
src_loligo_LDADD = $(LIBS_MGR) $(LOLIGO_SYSTEM_LIBS)
