# Manuals and documents.
dist_man_MANS += doc/loligo.8 doc/loligo.conf.5 doc/loligoclient.1
dist_doc_DATA = README.md CONTRIBUTING.md doc/ARCHITECTURE.md doc/protocols.md doc/performance.md doc/store-format.md
EXTRA_DIST += doc/decisions
