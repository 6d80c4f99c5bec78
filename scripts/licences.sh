#!/usr/bin/env bash
# Does every file that git knows say whose it is and under which licence? REUSE.toml says it for all. The reuse of Debian 12
# knows only the form before it: there the same is written in a copy of the tree.
set -u
cd "$(dirname "$0")/.." || exit 2
reuse --version | grep -qE '(^|[^0-9])[0-3]\.' || exec reuse lint
copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp -P --parents -t "$copy" && cd "$copy" && mkdir .reuse || exit 2
value() { sed -n "s/^$1 = \"\(.*\)\"$/\1/p" REUSE.toml; }
{
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    printf '\nFiles: *\nCopyright: %s\nLicense: %s\n' "$(value SPDX-FileCopyrightText)" "$(value SPDX-License-Identifier)"
} > .reuse/dep5
rm REUSE.toml
reuse lint
