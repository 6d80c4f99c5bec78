#!/usr/bin/env bash
# Everything that must hold, in stages. Each stage has a log in build/check/, and in continuous integration (.ci/run) a time
# limit: elsewhere a slow or busy machine takes the time that it needs, and every test has its own limit. The last line is
# the sum of all tests, a stage without tests of its own counting as one.
#
#     scripts/check.sh [STAGE...]          the stages that whoever changes locus should see pass, or the named ones
#     scripts/check.sh --rest [STAGE...]   what continuous integration runs besides; of mutants, and of clusters under
#                                          sanitizers, the part that is the commit's turn (scripts/rotation.sh)
#     scripts/check.sh --all               the stages of both, whole, and those of releases
#     scripts/check.sh --soak [STAGE...]   only the tests that go on for LOCUS_TEST_SECONDS, under every sanitizer
#     scripts/check.sh --run STAGE         one stage in this process
#
# Each line of build/check-times is a stage that ran: when, at which commit, its name, its seconds, those of processors, its
# result. RECORD=cold, or what else is to be said of how it ran, adds them to lab/check-times.md, too.
#
# A stage that cannot run here ends with status 77 and its last line says why; it is listed as skipped.
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/rotation.sh
. scripts/rotation.sh

# What the caller's make was told (CC=, SAN=, V=) is not meant for the stages.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN CFLAGS LDFLAGS CPPFLAGS RUNNER T

# An idle machine of two cores takes a third of that, half where nothing was ever compiled. It begins when .ci/run does:
# packages may be installed first.
ALL_SECONDS=5000
is_limited=${CHECK_STARTED:+1}
LOGS=build/check
TIMES=build/check-times

# Of each set: stages of lane 0 run first, one after the other; then lanes 1 to 3 at the same time, for many tests mostly wait.
# Two stages that build the same variant are never in different ones of those three, unless a stage of lane 0 or an earlier
# set has built it. Where nothing may have been built, because stages are named, all run one after the other.
#
# name, set, lane, limit in seconds of continuous integration, what it shows
STAGES='
tree             check 0   60 no machine paths and no unfinished marks in the tree
layers           check 0  120 no folder of the library includes one above it; nothing is too long, no folder too large; mutants apply
build-gcc        check 0  600 gcc builds everything without a warning
unit-asan        check 1 1200 unit tests, AddressSanitizer and UBSan
cluster          check 2  900 several processes: the library
sim              check 2  600 simulations: a fifth of the seeds
programs         check 3  600 the command and the trainers, as users start them: one of each
python           check 3  600 the Python package, and locus.torch
documents        check 3  180 links, options and code in documents are real; spelling
format           check 3  120 every source has the style of .clang-format
scripts          check 3  120 shellcheck
licences         rest  0   60 every file says whose it is and under which licence
build-clang      rest  0  300 clang finds nothing to warn of
selftest         rest  0  300 the runners and ThreadSanitizer still see a fault
cluster-asan     rest  1 1500 several processes and programs, AddressSanitizer and UBSan
sim-asan         rest  1  600 simulations, AddressSanitizer and UBSan
cluster-rest     rest  1  900 several processes and programs: those that no other stage runs
unit-tsan        rest  3  900 unit tests of what has threads, ThreadSanitizer
cluster-tsan     rest  3 1800 several processes and programs, ThreadSanitizer
python-rest      rest  3  900 the Python package: examples, wheels, types
unit             rest  2  600 unit tests, optimized
mutants          rest  2 1200 the simulations find planted faults
sim-rest         rest  2  600 simulations: all seeds
fuzz             rest  2  600 fuzzers
install          rest  2  600 programs and examples run from an installed tree
manuals          rest  2  240 every public name and every option has a manual page
headers          rest  2  400 every header compiles alone
bench            rest  2  540 every benchmark runs, small
tidy             rest  2 1500 clang-tidy
cppcheck         rest  2  600 cppcheck
package          all   0  900 a release and Debian packages can be made, and the release builds
'
SOAK_STAGES='unit unit-asan unit-tsan sim-rest sim-asan cluster cluster-asan cluster-tsan fuzz'

# Suites of test/cluster, and modules of test/programs. Each of the library runs in every check, and in continuous integration
# under a sanitizer when its turn comes, these always, since what they do is what others hang or crash by:
DANGEROUS='stress loss joining collective checkpoint hostile reopen stall forked section sampling outage'
# Programs of one thread that wait for others: ThreadSanitizer has nothing to look at.
COMMANDS='test_run test_doctor test_top test_explain test_report test_trace test_restart test_launchers'
# One of each command, for every check:
FIRST_PROGRAMS='test_run test_doctor test_top test_explain test_report test_trace test_options test_results'

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

# Unit tests are compiled where they run.
stage_build-gcc() { build lib programs benches simulations build/gcc/test/cluster build/gcc/test/distance; }
stage_build-clang() { need clang; make clang-warnings; }
stage_headers() { need clang; need g++; make headers; }
stage_selftest() { make selftest; }

# ---- tests

# part NAME: which of plain (0), address (1), thread (2) has this suite or module, at this commit
part() {
    local number
    for number in 0 1 2; do in_rotation "$1" 3 $number && break; done
    [ $number -eq 2 ] && [[ " $COMMANDS " == *" $1 "* ]] && number=0
    echo $number
}
# suites_of FILE...
suites_of() { grep -hoE '^[A-Z]*TEST[A-Z_]*\([a-z0-9_]+' "$@" | sed 's/.*(//' | sort -u; }
suites() { suites_of test/cluster/*.c; }
modules() { local file; for file in test/programs/test_*.py; do basename "$file" .py; done; }
is_in() { [[ " $2 " == *" $1 "* ]]; }

# clusters SAN PART ALWAYS NEVER: runs, in this variant, suites and modules that have this part or are in ALWAYS, but for those
# in NEVER
clusters() {
    local san=$1 number=$2 always=$3 never=$4 name suites='' modules='' status=0
    for name in $(suites) $(modules); do
        is_in "$name" "$never" && continue
        is_in "$name" "$always" || [ "$ROTATION" = all ] || [ "$(part "$name")" = "$number" ] || continue
        case $name in test_*) modules+=" $name" ;; *) suites+=" $name/" ;; esac
    done
    echo "of commit number $ROTATION (ROTATION=N repeats another's):$suites$modules"
    [ -z "$suites" ] || build SAN="$san" T="$suites" cluster || status=1
    [ -z "$modules" ] || build SAN="$san" AT_ONCE=3 T="$modules" programs-test || status=1
    return $status
}
# What a check has run already
library_suites() { local name; for name in $(suites); do is_in "$name" "$COMMANDS" || echo -n "$name/ "; done; }

stage_unit() { build RUNNER="$CHECK_RUNNER" test; }
stage_unit-asan() { need_sanitizer address; TESTS_AT_ONCE=$((2 * $(nproc))) build SAN=address RUNNER=plain test; }
stage_unit-tsan() {
    need_sanitizer thread
    # Where threads meet; protocol, checkpoint, training and programs' parts have one, or meet by these.
    local tests=(test/unit/{store,net,actors,api,cluster,worker,intents,scheduling,observe,base}/*.c)
    build SAN=thread RUNNER=plain T="$(suites_of "${tests[@]}" | sed 's|$|/|' | tr '\n' ' ')" test
}

stage_sim() { LOCUS_SIM_SEEDS=400 build sim; }
stage_sim-rest() { build sim; }
stage_sim-asan() { need_sanitizer address; LOCUS_TEST_SECONDS=1 LOCUS_SIM_SEEDS=200 build SAN=address sim; }
stage_mutants() { need gcc; if [ "$ROTATION" = all ]; then test/sim/mutants.sh all; else test/sim/mutants.sh --rotated; fi; }
# Most of them wait most of the time.
stage_cluster() { TESTS_AT_ONCE=6 build T="$(library_suites)" cluster; }
stage_programs() { build AT_ONCE=3 T="$FIRST_PROGRAMS" programs-test; }
stage_cluster-rest() { TESTS_AT_ONCE=3 clusters '' 0 '' "$(library_suites | tr -d /) $FIRST_PROGRAMS"; }
stage_cluster-asan() { need_sanitizer address; TESTS_AT_ONCE=3 clusters address 1 "$DANGEROUS" ''; }
stage_cluster-tsan() { need_sanitizer thread; TESTS_AT_ONCE=3 clusters thread 2 "$DANGEROUS" "$COMMANDS"; }
stage_fuzz() {
    need clang
    need_sanitizer address clang
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null || skip "clang has no libFuzzer here"
    build fuzz
}

stage_bench() { build bench-quick; }
# The distribution's interpreter: it is the one that has its torch.
python_tests() {
    local python=/usr/bin/python3
    need "$python"
    "$python" -c 'import numpy' 2> /dev/null || skip "there is no numpy here (python3-numpy)"
    build lib programs > /dev/null || return
    "$python" test/python/run.py "$@"
}
CORE=(test_node test_ported test_devices test_prepare test_predict)
stage_python() { python_tests "${CORE[@]}" test_structs.Structs test_closed.Closed test_torch.Modules test_torch.Steps; }
stage_python-rest() {
    local file rest=()
    for file in test/python/test_*.py; do file=${file##*/}; is_in "${file%.py}" "${CORE[*]}" || rest+=("${file%.py}"); done
    python_tests "${rest[@]}"
}
stage_install() { test/install.sh; }
stage_manuals() { test/manuals.sh; }
stage_tidy() { need clang-tidy; make tidy; }
stage_cppcheck() { need cppcheck; make cppcheck; }
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
# What the processes that this shell has waited for have used of processors, in seconds, into FILE
processor_seconds() { times > "$1.all" && awk 'NR == 2 { gsub(/[ms]/, " "); $0 = $0; printf "%.1f\n", 60 * ($1 + $3) + $2 + $4 }' "$1.all" > "$1"; }
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
    local stage=$1 status=$2 seconds=$3 used=$4 log=$LOGS/$1.log word=ok p f s
    read -r p f s < "$LOGS/$stage.result"
    [ "$status" -eq 77 ] && word=skipped
    [ "$f" -gt 0 ] && word=FAILED
    printf '== %s\n' "$stage"
    if [ "$f" -gt 0 ]; then
        grep -vE '^ok |^\[(PASS|RUN) *\]' "$log" | tail -n 60
    else
        grep -E '^\[====\] Synthesis|^[0-9]+ passed, ' "$log"
    fi
    printf '   %s, %s s, %s s of processors\n' "$word" "$seconds" "$used"
    printf '%-16s %-8s %6d %6d %7d %8s %9s\n' "$stage" "$word" "$p" "$f" "$s" "$seconds" "$used" > "$LOGS/$stage.row"
    printf '%(%F %T)T\t%s\t%s\t%s\t%s\t%s\n' -1 "$commit" "$stage" "$seconds" "$used" "$word" >> "$TIMES"
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
    local stage=$1 limit=$2 start=$EPOCHREALTIME status seconds used before
    processor_seconds "$LOGS/$stage.used" && before=$(cat "$LOGS/$stage.used")
    setsid timeout --kill-after=10 "$limit" "$0" --run "$stage" > "$LOGS/$stage.log" 2>&1 < /dev/null &
    echo $! > "$LOGS/$stage.session"
    wait $!
    status=$?
    end_session "$LOGS/$stage.session"
    seconds=$(seconds_since "$start")
    count_stage "$stage" "$status"
    processor_seconds "$LOGS/$stage.used"
    used=$(awk -v before="$before" '{ printf "%.1f", $1 - before }' "$LOGS/$stage.used")
    report_stage "$stage" "$status" "$seconds" "$used" > "$LOGS/$stage.report"
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

# run_set STAGE...: of one set
run_set() {
    local lane
    run_lane 0 "$@"
    for lane in 1 3 2; do
        if [ "$named" ]; then run_lane $lane "$@"; else run_lane $lane "$@" & fi
    done
    wait
}

closing_lines() {
    local stage
    printf '\n%-16s %-8s %6s %6s %7s %8s %9s\n' stage result passed failed skipped seconds processor
    for stage; do cat "$LOGS/$stage.row" 2> /dev/null; done
    echo
    for stage; do grep '^skipped: ' "$LOGS/$stage.named" 2> /dev/null; done
    for stage; do grep '^failed: ' "$LOGS/$stage.named" 2> /dev/null; done
    cat "$LOGS"/*.result | awk '{ p += $1; f += $2; s += $3 }
        END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

# A table of lab/check-times.md has a row for each stage.
record() {
    local machine
    machine="$(nproc) x $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
    for stage; do
        [ ! -e "$LOGS/$stage.row" ] ||
            awk -v day="$(date +%F)" -v commit="$commit" -v how="$RECORD" -v machine="$machine" \
                '{ printf "| %s | %s | %s | %.0f | %.0f | %s | %s |\n", day, commit, $1, $6, $7, how, machine }' "$LOGS/$stage.row"
    done >> lab/check-times.md
}

soak='' sets=check
commit=$(git rev-parse --short HEAD 2> /dev/null)
[ -z "$(git status --porcelain -- . ':!lab/check-times.md' 2> /dev/null)" ] || commit+=-dirty
# Criterion does not know that a longer test has a longer limit; soak has the plain runner.
export CHECK_RUNNER=${CHECK_RUNNER:-criterion}
case "${1:-}" in
    --run) "stage_$2"; exit ;;
    --soak) soak=1 CHECK_RUNNER=plain ROTATION=all; shift ;;
    --rest) sets=rest LOGS=build/check-rest; shift ;;
    --all) sets='check rest all' LOGS=build/check-all ROTATION=all; shift ;;
esac
ROTATION=$(rotation)
case $sets in check) seconds=1 ;; rest) seconds=2 ;; *) seconds=5 ;; esac
export ROTATION LOCUS_TEST_SECONDS=${LOCUS_TEST_SECONDS:-$seconds}

for stage; do
    [ "$(limit_of "$stage")" ] || { echo "There is no stage $stage. They are: $(awk 'NF { printf "%s ", $1 }' <<< "$STAGES")"; exit 2; }
done
rm -rf "$LOGS" && mkdir -p "$LOGS"
trap give_up INT TERM
named=
if [ $# -gt 0 ] || [ "$soak" ]; then
    known=("$@")
    [ $# -gt 0 ] || read -ra known <<< "$SOAK_STAGES"
    named=${1:-}
    run_set "${known[@]}"
else
    for set in $sets; do
        mapfile -t stages < <(awk -v wanted="$set" '$2 == wanted { print $1 }' <<< "$STAGES")
        known+=("${stages[@]}")
        run_set "${stages[@]}"
    done
fi
closing_lines "${known[@]}" | tee "$LOGS/closing"
[ -z "${RECORD:-}" ] || record "${known[@]}"
# All that were to run have ended, and none failed.
tail -n 1 "$LOGS/closing" | grep -q '^[0-9]* passed, 0 failed, '
