# Debian packages: liblocus0, liblocus-dev, locus and python3-locus, in build/deb/. What is packed is the tree as it stands, without git.
#
#     make deb MAINTAINER='Name <name@host>'    who answers for the packages; nobody unless told, which lintian then overlooks
#     make deb LINTIAN=                             without asking lintian

comma    := ,
DEB      := build/deb
DEB_TREE := $(DEB)/locus-$(VERSION)
MAINTAINER ?=
LINTIAN    ?= lintian
DEB_TAGS := $(if $(MAINTAINER),,--suppress-tags bogus-mail-host$(comma)bogus-mail-host-in-debian-changelog)

deb: ## Debian packages, in build/deb/, and what lintian says of them
	@rm -rf $(DEB) && mkdir -p $(DEB_TREE)
	@cp -r Makefile LICENSE README.md mk include src apps python examples scripts docs packaging/debian $(DEB_TREE)
	@find $(DEB_TREE) -name __pycache__ -prune -exec rm -rf {} +
	@head -n 1 $(DEB_TREE)/debian/changelog | grep -q '($(VERSION))' || \
	    { echo "packaging/debian/changelog has not $(VERSION), which locus.h has, on top" >&2; exit 1; }
	$(if $(MAINTAINER),@sed -i 's|locus developers <locus@localhost>|$(MAINTAINER)|' $(DEB_TREE)/debian/control $(DEB_TREE)/debian/changelog)
	@cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="parallel=$$(nproc)" \
	    dpkg-buildpackage -b -us -uc > ../log 2>&1 || { tail -n 30 ../log; exit 1; }
	$(if $(LINTIAN),@$(LINTIAN) --fail-on error --allow-root $(DEB_TAGS) $(DEB)/*.changes)
	@ls $(DEB)/*.deb

# Library and programs look for what they need in libs/ of the package; RPATH, not RUNPATH, because only that counts for
# the libraries of libraries, too. On x86-64 they run with glibc 2.28, in which threads and dlopen() are not part of libc.
WHEEL := $(B)/wheel
WHEEL_LDFLAGS := -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/libs:$$ORIGIN/../libs'
ifeq ($(shell uname -m),x86_64)
WHEEL_LDFLAGS += -Wl,--wrap=__libc_start_main,-E,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed
WHEEL_PARTS := $(B)/obj/packaging/older_glibc.o
endif

$(WHEEL)/liblocus.so.$(SOVERSION): $(call objects,$(B),$(LIB_SOURCES)) $(WHEEL_PARTS)
	$(call say,LINK,wheel/$(@F))
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $(BASE_LDFLAGS) $(LDFLAGS) $(WHEEL_LDFLAGS) $^ $(PKG_LIBS) $(LIBS) -o $@
$(foreach n,$(call names,apps),$(eval $(call PROGRAM,apps,$n,$(WHEEL)/$(call program_name,$n),$(B),$(WHEEL_PARTS) $(APPS_LIB),$$(WHEEL_LDFLAGS))))

wheel: $(WHEEL)/liblocus.so.$(SOVERSION) $(patsubst $(B)/bin/%,$(WHEEL)/%,$(PROGRAMS_BUILT)) ## a wheel with all that it needs but glibc: build/VARIANT/wheel/locus-VERSION-....whl
	@rm -f $(WHEEL)/*.whl
	@strip $^ && python3 python/backend.py $(WHEEL) $^

# What a release is: every file that git knows, as it is committed. It builds where there is no git.
DIST := build/locus-$(VERSION)

dist: ## a release: build/locus-VERSION.tar.gz, and its checksum
	@git rev-parse --verify -q HEAD > /dev/null || { echo "make dist packs what is committed: this is no git tree" >&2; exit 1; }
	@git diff --quiet HEAD || echo "make dist: what is not committed is left out" >&2
	@mkdir -p build
	@git archive --format=tar --prefix=$(notdir $(DIST))/ HEAD | gzip -n9 > $(DIST).tar.gz
	@cd build && sha256sum $(notdir $(DIST)).tar.gz > $(notdir $(DIST)).tar.gz.sha256
	@ls $(DIST).tar.gz

.PHONY: deb dist wheel
