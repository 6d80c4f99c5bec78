#!/usr/bin/env bash
# Can this tree be released? The release that `make dist` packs is unpacked, configured by nothing, and builds its library and
# programs where there is no git; its version is that of the header everywhere; `make deb` makes the packages, and lintian
# finds no error in them.
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL # what the caller's make was told is not meant for those below
passed=0 failed=0
place=$(mktemp -d)
log=$place/log
trap 'rm -rf "$place"' EXIT
try() {
    local name=$1
    shift
    if "$@" > "$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      package/$name"
    else
        failed=$((failed + 1))
        tail -n 30 "$log" | sed 's/^/    /'
        echo "failed: package/$name"
    fi
}
version=$(awk '/define LOCUS_VERSION_(MAJOR|MINOR|PATCH)/ { v = v dot $3; dot = "." } END { print v }' include/locus.h)
release=$place/locus-$version

dist() {
    make dist && (cd build && sha256sum -c "locus-$version.tar.gz.sha256") && tar -C "$place" -xzf "build/locus-$version.tar.gz"
}
# Told what `make check` tells, so that the cache has its objects.
builds() { env -u CCACHE GIT_DIR=/nonexistent make -C "$release" -j"$(nproc)" WERROR=-Werror && "$release/bin/locus" --version; }
says_version() { "$release/bin/locus" --version | grep -qF "$version"; }
named_once() {
    head -n 1 packaging/debian/changelog | grep -qF "($version)" && grep -qE "^## $version(,|$)" CHANGELOG.md &&
        grep -qF "version: $version" CITATION.cff
}
packages() { make deb && ls build/deb/*.deb; }

try a_release_is_packed dist
try it_builds_without_git builds
try it_says_its_version says_version
try other_files_have_the_version_of_the_header named_once
try debian_packages_are_made packages
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
