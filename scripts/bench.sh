#!/usr/bin/env bash
# Runs benchmarks: in full with their results in build/bench-results/, or with --quick first only to see that they run.
set -u
results=build/bench-results
quick=
[ "${1:-}" = --quick ] && quick=1 && shift
passed=0 failed=0
mkdir -p "$results"

for program; do
    name=${program##*/}
    echo "== $name"
    if [ $quick ]; then
        timeout --kill-after=10 600 "$program" --quick < /dev/null
    else
        "$program" --json "$results/$name.json" --svg "$results/$name.svg"
    fi
    status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: bench/$name: exit status $status"
    fi
done
if [ $quick ]; then
    echo "$passed passed, $failed failed, 0 skipped"
else
    echo "results: $results/"
fi
[ $failed -eq 0 ]
