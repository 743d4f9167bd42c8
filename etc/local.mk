# The configuration, examples, and the systemd unit.
EXTRA_DIST += etc/loligo.conf etc/loligo.service.in

examplesdir = $(docdir)/examples
dist_examples_DATA = etc/examples/forward.conf etc/examples/accelerator.conf etc/examples/reverse-tls.conf

systemdunitdir = $(prefix)/lib/systemd/system
nodist_systemdunit_DATA = etc/loligo.service
CLEANFILES += etc/loligo.service
etc/loligo.service: etc/loligo.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/etc/loligo.service.in >$@

# A configuration that is there already is its owner's: never overwritten, and removed only while it is ours unchanged.
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(sysconfdir)/loligo"
	test -e "$(DESTDIR)$(sysconfdir)/loligo/loligo.conf" || \
	  $(INSTALL_DATA) $(srcdir)/etc/loligo.conf "$(DESTDIR)$(sysconfdir)/loligo/loligo.conf"

uninstall-local:
	if cmp -s $(srcdir)/etc/loligo.conf "$(DESTDIR)$(sysconfdir)/loligo/loligo.conf"; then \
	  rm -f "$(DESTDIR)$(sysconfdir)/loligo/loligo.conf"; fi
