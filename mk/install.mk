# make install PREFIX=/usr/local DESTDIR=
#
# locus.pc finds its prefix from where it stands itself, so that an installed tree can be moved. It is for the shared library
# alone: there is no archive, for two libraries that it would need have none, or none that links (libudev, gnutls).

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
MANDIR     ?= $(PREFIX)/share/man
SHAREDIR   ?= $(PREFIX)/share/locus
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
PYTHON_DIR  ?= $(SHAREDIR)/python
PC_DIR      = $(LIBDIR)/pkgconfig
PC_PREFIX   = $(shell realpath -m -s --relative-to='$(PC_DIR)' '$(PREFIX)')

# The text goes through the environment: the shell leaves ${pcfiledir} alone there.
define PC_TEXT
prefix=$${pcfiledir}/$(PC_PREFIX)
includedir=$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)
libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)

Name: locus
Description: adaptive parameter manager for distributed machine learning
Version: $(VERSION)
Cflags: -I$${includedir}
Libs: -L$${libdir} -llocus
endef
export PC_TEXT

# The package finds the library through a link beside itself, which is relative: the tree can be moved.
PYTHON_FILES = $(wildcard python/locus/*.py python/locus/*/*.py) python/locus/py.typed

install: lib programs $(MAN)/man3/locus_open.3 $(MAN_COMMANDS) $(MAN_PROGRAMS) $(MAN_PYTHON) ## headers, the library, locus.pc, programs, manuals, the Python package (PREFIX=, DESTDIR=)
	@case '$(PREFIX)' in /*) ;; *) echo "PREFIX is '$(PREFIX)': must be an absolute path" >&2; exit 1;; esac
	install -d '$(DESTDIR)$(INCLUDEDIR)' '$(DESTDIR)$(PC_DIR)' '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(SHAREDIR)' \
	    '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(MANDIR)/man3'
	install -m 755 $(PROGRAMS_BUILT) '$(DESTDIR)$(BINDIR)'
	for f in $(notdir $(COMMANDS_PYTHON)); do \
	    $(call command_python,$(BINDIR),$(PYTHON_DIR)) > "$(DESTDIR)$(BINDIR)/$$f" && chmod 755 "$(DESTDIR)$(BINDIR)/$$f" || exit 1; done
	install -m 644 $(MAN_COMMANDS) $(MAN_PROGRAMS) $(MAN_PYTHON) '$(DESTDIR)$(MANDIR)/man1'
	install -m 644 $(MAN)/man3/*.3 '$(DESTDIR)$(MANDIR)/man3'
	install -m 644 mk/tsan.suppressions '$(DESTDIR)$(SHAREDIR)/tsan.suppressions'
	install -m 644 include/locus.h include/locus_schedule.h '$(DESTDIR)$(INCLUDEDIR)'
	install -m 755 $(SO).$(VERSION) '$(DESTDIR)$(LIBDIR)/liblocus.so.$(VERSION)'
	ln -sf liblocus.so.$(VERSION) '$(DESTDIR)$(LIBDIR)/liblocus.so.$(SOVERSION)'
	ln -sf liblocus.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/liblocus.so'
	for f in $(PYTHON_FILES:python/%=%); do install -D -m 644 "python/$$f" "$(DESTDIR)$(PYTHON_DIR)/$$f" || exit 1; done
	ln -sfn "$$(realpath -m -s --relative-to='$(PYTHON_DIR)/locus' '$(LIBDIR)/liblocus.so.$(SOVERSION)')" \
	    '$(DESTDIR)$(PYTHON_DIR)/locus/liblocus.so.$(SOVERSION)'
	printenv PC_TEXT > '$(DESTDIR)$(PC_DIR)/locus.pc'
	chmod 644 '$(DESTDIR)$(PC_DIR)/locus.pc'

.PHONY: install
