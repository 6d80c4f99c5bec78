#!/usr/bin/env bash
# The inner loop: looks at what has changed since the last commit (if nothing has, at that commit), builds the library, the
# programs and the unit tests, and runs what is nearest to the change: the unit tests of its folders, a few seeds of the
# simulation, the files of test/cluster and test/programs that changed.
set -u
cd "$(dirname "$0")/.." || exit 2
started=$EPOCHREALTIME
B=build/${CC:-gcc}
export WERROR=-Werror
git rev-parse --verify -q HEAD > /dev/null || { echo "make quick asks git what has changed: this is no git tree" >&2; exit 2; }

mapfile -t changed < <({ git diff --name-only HEAD; git ls-files --others --exclude-standard; } | sort -u)
[ ${#changed[@]} -gt 0 ] || mapfile -t changed < <(git show --format= --name-only HEAD)
matching() { printf '%s\n' "${changed[@]}" | grep -E "$1"; }
step() { echo "== $*"; "$@" || { echo "make quick: failed: $*"; exit 1; }; }

mapfile -t formatted < <(matching '\.[ch]$' | while read -r f; do [ -e "$f" ] && echo "$f"; done)
if [ ${#formatted[@]} -gt 0 ] && clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
    step clang-format --dry-run --Werror "${formatted[@]}"
fi
matching '^src/' > /dev/null && step scripts/layers.sh

# The suites of the tests that stand in the folder of the same name: src/store has test/unit/store, apps/kge what names it.
suites() {
    matching '^(src|test/unit|apps)/' | while IFS=/ read -r top a b _; do
        case $top in
            src) find "test/unit/$a" -name '*_test.c' ;;
            test) find "test/unit" -path "test/unit/$b/*_test.c" ;;
            apps) if [ "$a" = common ]; then find test/unit/apps -name '*_test.c'; else grep -lE "\"$a/" test/unit/apps/*_test.c; fi ;;
        esac
    done | sort -u | xargs -r grep -hoE '^TEST(_WITH)?\([a-z0-9_]+' | sed 's/.*(//; s|$|/|' | sort -u
}
step make -j"$(nproc)" lib programs "$B/test/unit-plain"
mapfile -t wanted < <(suites)
[ ${#wanted[@]} -eq 0 ] || step "$B/test/unit-plain" "${wanted[@]}"

mapfile -t clusters < <(matching '^test/cluster/[a-z_]+\.c$' | xargs -r grep -ls 'TEST(' | sed 's|.*/||; s|\.c$|/|')
[ ${#clusters[@]} -eq 0 ] || step make -j"$(nproc)" cluster T="${clusters[*]}"

mapfile -t programs < <(matching '^test/programs/test_[a-z_]+\.py$' | sed 's|.*/||; s|\.py$||')
[ ${#programs[@]} -eq 0 ] || step make -j"$(nproc)" programs-test T="${programs[*]}"

matching '^(bench|lab)/.*\.[ch]$' > /dev/null && step make -j"$(nproc)" benches

if matching '^(src/(store|protocol|actors|net|node|api)|test/sim)/' > /dev/null; then
    step make -j"$(nproc)" "$B-fibers/test/sim/protocol"
    step "$B-fibers/test/sim/protocol" --seeds 100
fi
matching '^(scripts|test)/.*\.sh$' > /dev/null && command -v shellcheck > /dev/null && step make shellcheck
awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "make quick: ok, %.0f s\n", b - a }'
