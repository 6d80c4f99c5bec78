#!/usr/bin/env bash
# Runs benchmarks, and shows what they come to: in full with their results in build/bench-results/, or with --quick first only to
# see that they run.
set -u
here=$(dirname "$0")
results=build/bench-results
quick='' limit=0 files=() # 0: none
[ "${1:-}" = --quick ] && quick=--quick limit=600 results=build/bench-quick && shift
passed=0 failed=0
mkdir -p "$results"

judge() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: bench/$1: exit status $2"
    fi
}

for program; do
    name=${program##*/}
    echo "== $name"
    case $program in
    *.py) timeout --kill-after=10 "$limit" "$program" $quick < /dev/null ;;
    */lab/*) timeout --kill-after=10 "$limit" "$here/../lab/report.py" quick "$program" < /dev/null ;; # prints what it has checked
    *)
        files+=("$results/$name.json")
        timeout --kill-after=10 "$limit" "$program" $quick > "$results/$name.json" < /dev/null
        ;;
    esac
    judge "$name" $?
done
"$here/../bench/report.py" "${files[@]}" > "$results/report.txt"
judge report.py $?
if [ $quick ]; then
    echo "$passed passed, $failed failed, 0 skipped"
else
    cat "$results/report.txt"
    echo "results: $results/"
fi
[ $failed -eq 0 ]
