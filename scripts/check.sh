#!/usr/bin/env bash
# Everything that must hold, in stages. Each stage has a log in build/check/, and in continuous integration (.ci/run) a time
# limit: elsewhere a slow or busy machine takes the time that it needs, and every test has its own limit. The last line is
# the sum of all tests, a stage without tests of its own counting as one.
#
#     scripts/check.sh [STAGE...]          the stages that whoever builds locus should see pass, or the named ones
#     scripts/check.sh --rest [STAGE...]   all the other stages: what takes longer
#     scripts/check.sh --soak [STAGE...]   only the tests that go on for LOCUS_TEST_SECONDS, under every sanitizer
#     scripts/check.sh --run STAGE         one stage in this process
#
# Each line of build/check-times is a stage that ran: when, at which commit, its name, its seconds, its result.
#
# A stage that cannot run here ends with status 77 and its last line says why; it is listed as skipped.
set -u
cd "$(dirname "$0")/.." || exit 2

# What the caller's make was told (CC=, SAN=, V=) is not meant for the stages.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN CFLAGS LDFLAGS CPPFLAGS RUNNER T
export LOCUS_TEST_SECONDS=${LOCUS_TEST_SECONDS:-5}

# An idle machine of two cores takes about 70 % of that, or four fifths where nothing was ever compiled. It begins when
# .ci/run does: packages may be installed first.
ALL_SECONDS=5000
is_limited=${CHECK_STARTED:+1}
LOGS=build/check
TIMES=build/check-times

# Of `make check` and of the rest alike: stages of lane 0 run first, one after the other; then lanes 1 to 3 at the same time,
# for many tests mostly wait. Two stages that build the same variant are never in different ones of those three, but for
# bench, of which a part is built like sim. Where nothing may have been built, because stages are named, all run one after
# the other.
#
# name, set, lane, limit in seconds of continuous integration, what it shows
STAGES='
tree             check 0   60 no machine paths and no unfinished marks in the tree
layers           check 0  120 no folder of the library includes one above it; no file or function is too long; mutants apply
format           check 0  120 every source has the style of .clang-format
build-gcc        check 0  600 gcc builds everything without a warning
unit             check 1  720 unit tests
cluster          check 2 1500 several processes
sim              check 2  800 simulations
install          check 3  900 programs and examples run from an installed tree
python           check 3  900 the Python package, and locus.torch
manuals          check 3  240 every public name and every option has a manual page
documents        check 3  180 links, options and code in documents are real; spelling
scripts          check 3  120 shellcheck
unit-asan        check 1 1500 unit tests, AddressSanitizer and UBSan
licences         rest  0   60 every file says whose it is and under which licence
build-clang      rest  0  600 clang builds everything without a warning
selftest         rest  0  400 the runners and ThreadSanitizer still see a fault
cluster-asan     rest  1 1800 several processes, AddressSanitizer and UBSan
sim-asan         rest  1 1000 simulations, AddressSanitizer and UBSan
unit-tsan        rest  3 1800 unit tests, ThreadSanitizer
cluster-tsan     rest  3 2600 several processes, ThreadSanitizer
mutants          rest  2 1500 the simulations find every planted fault
mutants-protocol rest  2 1200 the same for the protocol between nodes
fuzz             rest  2 1200 fuzzers
headers          rest  2  600 every header compiles alone
bench            rest  2  540 every benchmark runs, small
package          rest  1  900 a release and Debian packages can be made, and the release builds
tidy             rest  2 1200 clang-tidy
cppcheck         rest  2  900 cppcheck
analyzer         rest  2  600 gcc -fanalyzer
'
SOAK_STAGES='unit unit-asan unit-tsan sim sim-asan cluster cluster-asan cluster-tsan fuzz'

build() { make -j"$(nproc)" "$@"; }
skip() { echo "$*"; exit 77; }
need() { command -v "$1" > /dev/null || skip "there is no $1 here"; }

# ---- the stages ----------------------------------------------------------------------------------------------------

# A sanitizer may be there to compile with and yet not run on this kernel. Stages of other lanes probe at the same time.
need_sanitizer() {
    local name=$1 compiler=${2:-gcc} probe
    probe=$(mktemp) || exit 1
    echo 'int main(void) { return 0; }' | "$compiler" -fsanitize="$name" -x c - -o "$probe" ||
        { rm -f "$probe"; skip "$compiler has no -fsanitize=$name here"; }
    "$probe" || { rm -f "$probe"; skip "a program with -fsanitize=$name does not run on this kernel"; }
    rm -f "$probe"
}

stage_tree() {
    need git
    git rev-parse --is-inside-work-tree > /dev/null 2>&1 || skip "this is not a git checkout"
    local before='(^|[^A-Za-z0-9_.~$}-])' here="$PWD"
    # A checkout right below / has a name like any folder's.
    [[ $here == /*/* ]] || here=/home
    # The brackets keep this file out of what it finds.
    if git grep -nIE "$before/(home|root|work|Users|mnt)/[A-Za-z0-9_.]" -- . ':!LICENSE' ||
        git grep -nIE "$before$(printf '%s/' "$here" | sed 's/[^A-Za-z0-9\/]/[&]/g')" ||
        git grep -nIE 'FIX[M]E|TO[D]O|X[X]X' -- . ':!test'; then
        echo "The lines above name a path of one machine, or something unfinished."
        return 1
    fi
}

stage_layers() {
    local mutant file status=0
    scripts/layers.sh || status=1
    for mutant in test/sim/mutants/*/*.sed; do
        read -r _ _ file < "$mutant"
        sed -f "$mutant" "$file" | cmp -s - "$file" || continue
        echo "$mutant changes nothing in $file any more"
        status=1
    done
    return $status
}

stage_format() {
    need clang-format
    # Versions differ in what they write.
    clang-format --version | grep -q 'version 14\.' || skip "the style is that of clang-format 14"
    make format-check
}

stage_build-gcc() { build everything; }
# Its warnings do not depend on how it optimizes.
stage_build-clang() { need clang; build CC=clang CFLAGS=-O0 everything; }
stage_headers() { need clang; need g++; make headers; }
stage_selftest() { make selftest; }

stage_unit() { build RUNNER="$CHECK_RUNNER" test; }
stage_unit-asan() { need_sanitizer address; build SAN=address RUNNER=plain test; }
# But for suites that have one thread, and take long under it.
stage_unit-tsan() {
    need_sanitizer thread
    local suite left=
    for suite in pinning relocation shard owner mf ratings wv wordnet target manifest adversity; do left+="-$suite/ "; done
    left+=-intents/an_intent_that_is_extended_again_and_again_is_kept_once
    build SAN=thread RUNNER=plain T="$left" test
}

stage_sim() { build sim; }
stage_mutants() { need gcc; test/sim/mutants.sh local && test/sim/mutants.sh schedule && test/sim/mutants.sh checkpoint; }
stage_mutants-protocol() { need gcc; test/sim/mutants.sh protocol; }
stage_sim-asan() { need_sanitizer address; build SAN=address sim; }
# Most of them wait most of the time.
stage_cluster() { PROGRAMS_AT_ONCE=4 build cluster; }
stage_cluster-asan() { need_sanitizer address; PROGRAMS_AT_ONCE=2 build SAN=address cluster; }
stage_cluster-tsan() { need_sanitizer thread; PROGRAMS_AT_ONCE=2 build SAN=thread cluster; }
stage_fuzz() {
    need clang
    need_sanitizer address clang
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null || skip "clang has no libFuzzer here"
    build fuzz
}

stage_bench() { build bench-quick; }
# The distribution's interpreter: it is the one that has its torch.
stage_python() {
    local python=/usr/bin/python3
    need "$python"
    "$python" -c 'import numpy' 2> /dev/null || skip "there is no numpy here (python3-numpy)"
    build lib programs > /dev/null || return
    "$python" test/python/run.py
}
stage_install() { test/install.sh; }
stage_manuals() { test/manuals.sh; }
stage_tidy() { need clang-tidy; make tidy; }
stage_cppcheck() { need cppcheck; make cppcheck; }
stage_analyzer() { make analyzer; }
stage_documents() {
    need git
    git rev-parse --is-inside-work-tree > /dev/null 2>&1 || skip "this is not a git checkout"
    need python3
    need codespell
    make documents
}
stage_scripts() { need shellcheck; make shellcheck; }
stage_licences() { need reuse; scripts/licences.sh; }
stage_package() {
    need git
    git rev-parse --is-inside-work-tree > /dev/null 2>&1 || skip "this is not a git checkout"
    need dpkg-buildpackage
    need lintian
    test/package.sh
}

# ---- running them --------------------------------------------------------------------------------------------------

limit_of() { awk -v s="$1" '$1 == s { print $4 }' <<< "$STAGES"; }
lane_of() { awk -v s="$1" '$1 == s { print $3 }' <<< "$STAGES"; }
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# Adds up what a stage's log counts, into its .result: passed, failed, skipped; .skips and .failures name them. A stage that
# counts nothing is one test itself.
count_stage() {
    local stage=$1 status=$2 log=$LOGS/$1.log p f s
    read -r p f s < <(awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
                           END { print p + 0, f + 0, s + 0 }' "$log")
    {
        if [ "$status" -eq 77 ]; then
            s=$((s + 1))
            echo "skipped: $stage: $(tail -n 1 "$log")"
        elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
            f=1
            case $status in 124 | 137) echo "failed: $stage: not done after its time limit" ;; esac
        elif [ $((p + f + s)) -eq 0 ]; then
            p=1
        fi
        sed -n -e "s|^skipped: |skipped: $stage: |p" -e "s|^failed: |failed: $stage: |p" "$log"
    } > "$LOGS/$stage.named"
    if [ "$f" -gt 0 ] && ! grep -q '^failed: ' "$LOGS/$stage.named"; then
        echo "failed: $stage: see $log" >> "$LOGS/$stage.named"
    fi
    echo "$p $f $s" > "$LOGS/$stage.result"
}

# What is printed of a stage when it has ended, in one piece.
report_stage() {
    local stage=$1 status=$2 seconds=$3 log=$LOGS/$1.log word=ok p f s
    read -r p f s < "$LOGS/$stage.result"
    [ "$status" -eq 77 ] && word=skipped
    [ "$f" -gt 0 ] && word=FAILED
    printf '== %s\n' "$stage"
    if [ "$f" -gt 0 ]; then
        grep -vE '^ok |^\[(PASS|RUN) *\]' "$log" | tail -n 60
    else
        grep -E '^\[====\] Synthesis|^[0-9]+ passed, ' "$log"
    fi
    printf '   %s, %s s\n' "$word" "$seconds"
    printf '%-16s %-8s %6d %6d %7d %8s\n' "$stage" "$word" "$p" "$f" "$s" "$seconds" > "$LOGS/$stage.row"
    printf '%(%F %T)T\t%s\t%s\t%s\t%s\n' -1 "$commit" "$stage" "$seconds" "$word" >> "$TIMES"
}

# end_session FILE: a stage has a session of its own, which its number is in. Whatever still runs in it is killed: the limits
# within a stage have process groups of their own, which a signal to the stage's does not reach.
end_session() {
    local session pids
    session=$(cat "$1") && rm -f "$1"
    mapfile -t pids < <(cat /proc/[0-9]*/stat 2> /dev/null |
        awk -v s="$session" '{ pid = $1; sub(/.*\) /, ""); if ($4 == s) print pid }')
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2> /dev/null
}

# Interrupted: nothing goes on.
give_up() {
    local lanes file
    trap - INT TERM
    mapfile -t lanes < <(jobs -p)
    [ ${#lanes[@]} -eq 0 ] || kill "${lanes[@]}" 2> /dev/null
    for file in "$LOGS"/*.session; do [ -e "$file" ] && end_session "$file"; done
    echo "interrupted"
    exit 1
}

run_stage() {
    local stage=$1 limit=$2 start=$EPOCHREALTIME status seconds
    setsid timeout --kill-after=10 "$limit" "$0" --run "$stage" > "$LOGS/$stage.log" 2>&1 < /dev/null &
    echo $! > "$LOGS/$stage.session"
    wait $!
    status=$?
    end_session "$LOGS/$stage.session"
    seconds=$(seconds_since "$start")
    count_stage "$stage" "$status"
    report_stage "$stage" "$status" "$seconds" > "$LOGS/$stage.report"
    cat "$LOGS/$stage.report"
}

# run_lane LANE STAGE...: those of the lane, in order
run_lane() {
    local lane=$1 left limit stage
    shift
    for stage; do
        [ "$(lane_of "$stage")" = "$lane" ] || continue
        limit=0
        if [ "$is_limited" ] && [ ! "$soak" ]; then
            limit=$(limit_of "$stage")
            left=$((ALL_SECONDS - (EPOCHSECONDS - CHECK_STARTED)))
            [ "$limit" -le "$left" ] || limit=$((left > 1 ? left : 1))
        fi
        run_stage "$stage" "$limit"
    done
}

run_stages() {
    local lane
    rm -rf "$LOGS" && mkdir -p "$LOGS"
    trap give_up INT TERM
    run_lane 0 "$@"
    for lane in 1 3 2; do
        if [ "$named" ]; then run_lane $lane "$@"; else run_lane $lane "$@" & fi
    done
    wait
}

closing_lines() {
    local stage
    printf '\n%-16s %-8s %6s %6s %7s %8s\n' stage result passed failed skipped seconds
    for stage; do cat "$LOGS/$stage.row" 2> /dev/null; done
    echo
    for stage; do grep '^skipped: ' "$LOGS/$stage.named" 2> /dev/null; done
    for stage; do grep '^failed: ' "$LOGS/$stage.named" 2> /dev/null; done
    cat "$LOGS"/*.result | awk '{ p += $1; f += $2; s += $3 }
        END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

soak='' wanted=check
commit=$(git describe --always --dirty 2> /dev/null)
# Criterion does not know that a longer test has a longer limit; soak has the plain runner.
export CHECK_RUNNER=${CHECK_RUNNER:-criterion}
case "${1:-}" in
    --run) "stage_$2"; exit ;;
    --soak) soak=1 CHECK_RUNNER=plain; shift ;;
    --rest) wanted=rest LOGS=build/check-rest; shift ;;
esac

for stage; do
    [ "$(limit_of "$stage")" ] || { echo "There is no stage $stage. They are: $(awk 'NF { printf "%s ", $1 }' <<< "$STAGES")"; exit 2; }
done
mapfile -t known < <(awk -v wanted="$wanted" '$2 == wanted { print $1 }' <<< "$STAGES")
named=
if [ $# -gt 0 ]; then
    known=("$@") named=1
elif [ "$soak" ]; then
    read -ra known <<< "$SOAK_STAGES"
fi
run_stages "${known[@]}"
closing_lines "${known[@]}" | tee "$LOGS/closing"
# All that were to run have ended, and none failed.
tail -n 1 "$LOGS/closing" | grep -q '^[0-9]* passed, 0 failed, '
