#!/usr/bin/env bash
# Runs the named fuzzers for LOCUS_TEST_SECONDS each, FUZZ_JOBS of them at a time (as many as there are cores unless told),
# beginning with the inputs of test/fuzz/seeds/NAME; what they find besides is kept in build/fuzz/NAME for the next time. One
# whose name begins with planted_ has a fault on purpose and must find it: otherwise the others' silence means nothing.
#
# An input that makes a fuzzer fail is left in build/fuzz/NAME-*. It goes to test/fuzz/seeds/NAME with the repair.
set -u
seconds=${LOCUS_TEST_SECONDS:-5}
jobs=${FUZZ_JOBS:-$(nproc)}
programs=build/clang-fuzzer/test/fuzz
results=build/fuzz
mkdir -p "$results"

run() {
    local name=$1 inputs=("$results/$1") log=$results/$1.log seconds=$seconds
    # It ends with its first find, and must not depend on how busy the machine is.
    [[ $name == planted_* ]] && seconds=300
    mkdir -p "$results/$name"
    [ -d "test/fuzz/seeds/$name" ] && inputs+=("test/fuzz/seeds/$name")
    timeout --kill-after=10 $((seconds + 300)) "$programs/$name" -max_total_time="$seconds" -timeout=30 \
        -rss_limit_mb=1024 -max_len=4096 -verbosity=0 -print_final_stats=1 -artifact_prefix="$results/$name-" \
        "${inputs[@]}" > "$log" 2>&1 < /dev/null
    echo $? > "$results/$name.status"
}

# Is that how it should end? libFuzzer's statuses are 1 for what a sanitizer reports and 77 for what it finds itself.
is_right() {
    case $1:$2 in
        planted_*:1 | planted_*:77) true ;;
        planted_*) false ;;
        *) [ "$2" -eq 0 ] ;;
    esac
}

judge() {
    local name=$1 executions
    executions=$(awk '/number_of_executed_units/ { print $2 }' "$results/$name.log")
    if is_right "$name" "$(cat "$results/$name.status")"; then
        passed=$((passed + 1))
        echo "ok      fuzz/$name: ${executions:-no} executions"
    else
        failed=$((failed + 1))
        sed 's/^/    /' "$results/$name.log"
        [[ $name == planted_* ]] && echo "    It did not find its fault."
        echo "failed: fuzz/$name"
    fi
}

passed=0 failed=0 running=0
for name; do
    rm -f "$results/$name.status"
    [ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
    run "$name" &
    running=$((running + 1))
done
wait
for name; do judge "$name"; done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
