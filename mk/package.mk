# Debian packages: liblocus0, liblocus-dev and locus, in build/deb/. What is packed is the tree as it stands, without git.
#
#     make deb MAINTAINER='Name <name@host>'    who answers for the packages; nobody unless told, which lintian then overlooks

comma    := ,
DEB      := build/deb
DEB_TREE := $(DEB)/locus-$(VERSION)
MAINTAINER ?=
DEB_TAGS := $(if $(MAINTAINER),,--suppress-tags bogus-mail-host$(comma)bogus-mail-host-in-debian-changelog)

deb: ## Debian packages, in build/deb/, and what lintian says of them
	@rm -rf $(DEB) && mkdir -p $(DEB_TREE)
	@cp -r Makefile LICENSE README.md mk include src apps scripts docs packaging/debian $(DEB_TREE)
	@head -n 1 $(DEB_TREE)/debian/changelog | grep -q '($(VERSION))' || \
	    { echo "packaging/debian/changelog has not $(VERSION), which locus.h has, on top" >&2; exit 1; }
	$(if $(MAINTAINER),@sed -i 's|locus developers <locus@localhost>|$(MAINTAINER)|' $(DEB_TREE)/debian/control $(DEB_TREE)/debian/changelog)
	@cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="parallel=$$(nproc)" \
	    dpkg-buildpackage -b -us -uc > ../log 2>&1 || { tail -n 30 ../log; exit 1; }
	@lintian --fail-on error --allow-root $(DEB_TAGS) $(DEB)/*.changes
	@ls $(DEB)/*.deb

.PHONY: deb
