#!/usr/bin/env bash
# Do the runners notice what they should? The tests of test/selftest/planted.c fail on purpose, under both runners, with
# and without AddressSanitizer; those of test/tsan/planted.c race on purpose, and those of agree.c must not seem to.
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL # what the caller's make was told is not meant for those below
passed=0 failed=0 skipped=0
export LOCUS_TEST_SECONDS=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

good() { passed=$((passed + 1)); echo "ok      $*"; }
bad() { failed=$((failed + 1)); sed 's/^/    /' "$log"; echo "failed: $*"; }

# expect NAME STATUS PATTERN... : the program in the log ended so, and said each of these
expect() {
    local name=$1 status=$2 wanted
    shift 2
    for wanted; do
        grep -qE -- "$wanted" "$log" || { bad "$name: it does not say: $wanted"; return; }
    done
    [ "$status" -eq 1 ] || { bad "$name: its exit status is $status"; return; }
    good "$name"
}

# harness VARIANT RUNNER CLOSING MORE...
harness() {
    local variant=$1 runner=$2 closing=$3
    shift 3
    make -j"$(nproc)" CC="${variant%%-*}" SAN="$(sed -n 's/^[a-z]*-//p' <<< "$variant")" "build/$variant/test/planted-$runner" \
        > "$log" 2>&1 || { bad "$variant, $runner: it does not compile"; return; }
    # through a pipe, which is open as long as anybody has it
    TESTS_AT_ONCE=2 "build/$variant/test/planted-$runner" 2>&1 | timeout 100 cat > "$log"
    local ends=("${PIPESTATUS[@]}")
    [ "${ends[1]}" -eq 0 ] || bad "$variant, $runner: who reads its output waits for a child of a test"
    expect "$variant, $runner" "${ends[0]}" "^$closing\$" 'planted\.c:[0-9]+: CHECK\(1 \+ 1 == 3\)' \
        'CHECK_EQ\(3 \* 4, 13\): 12 != 13' '"node 3 has failed" does not contain "node 4"' \
        '^failed: planted/a_false_check_in_a_thread_counts' '^failed: planted/a_hang_is_ended' \
        '^failed: planted/a_crash_counts' '^failed: planted/an_early_exit_counts' \
        '^skipped: planted/a_skip_has_a_reason: there is no such device$' "$@"
    grep -q 'must not appear' "$log" && bad "$variant, $runner: a test goes on after a false check"
    "build/$variant/test/planted-$runner" no_such_test > "$log" 2>&1
    expect "$variant, $runner, of no test" $? '^no test was chosen$' '^0 passed, 0 failed, 0 skipped$'
}

# tsan COMPILER
tsan() {
    local folder=build/$1-thread/test/tsan
    make -j"$(nproc)" CC="$1" SAN=thread "$folder/agree" "$folder/planted" > "$log" 2>&1 || { bad "tsan, $1: it does not compile"; return; }
    if "$folder/agree" > "$log" 2>&1; then good "tsan, $1: no false report"; else bad "tsan, $1: a false report"; fi
    "$folder/planted" > "$log" 2>&1
    expect "tsan, $1: planted races are found" $? '^0 passed, 2 failed, 0 skipped$' \
        'a_read_after_its_section: exit status 66' \
        'a_free_without_a_grace_period: exit status 66'
}

# Arrows that run up, from a header and from a source, and round within a folder; a folder that stands nowhere; a line that is
# none; a file, a function and the whole that are too long.
layers() {
    local tree
    tree=$(mktemp -d) || return
    cp -r src "$tree"
    echo '#include "actors/actor.h"' >> "$tree/src/store/row.h"
    echo '#include "net/later.h"' >> "$tree/src/net/wire.c"
    printf '#include "net/%s.h"\n' wire > "$tree/src/net/later.h"
    echo '#include "worker/call.h"' >> "$tree/src/net/link.c"
    echo '#include "protocol/round.h"' >> "$tree/src/protocol/owner.c"
    touch "$tree/src/nowhere.h"
    rm -r "$tree/src/scheduling"
    { echo 'void keyset_long(struct keyset *s,'; echo '                 int n)'; echo '{'; printf '    n += %d;\n' {1..61}; echo '}'; } \
        >> "$tree/src/base/sets.c"
    printf '/* %s */\n' {1..2601} > "$tree/src/worker/sample_target.h"
    scripts/layers.sh "$tree/src" > "$log" 2>&1
    expect "layers: planted arrows are found" $? '^store/row.h includes actors/actor.h' '^net/link.c includes worker/call.h' \
        '^net/wire is in a circle' '^protocol/owner is in a circle' '^\. stands on no line' '^scheduling is on a line' \
        '^base/sets.c: keyset_long\(\) has 61 lines' '^worker/sample_target.h has 2601 lines' \
        '^src has [0-9]+ lines: at most'
    rm -rf "$tree"
}
layers

leaks='^failed: planted/a_leak_is_seen' frees='^failed: planted/a_use_after_free_is_seen'
for runner in plain criterion; do harness gcc $runner '3 passed, 7 failed, 3 skipped'; done
harness gcc-address plain '3 passed, 9 failed, 1 skipped' "$leaks" "$frees"
tsan gcc
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
