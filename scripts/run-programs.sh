#!/usr/bin/env bash
# Runs test programs one after the other, each with a time limit. Every program closes with "N passed, N failed, N
# skipped"; one that ends badly without counting a failure, or counts nothing, is counted as failed here. What the bad ones
# said comes once more at the end.
set -u
limit=$((1200 + 20 * ${LOCUS_TEST_SECONDS:-5}))
sum='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
bad=0
output=$(mktemp)
said=$(mktemp)
trap 'rm -f "$output" "$said"' EXIT

# What a program said but of the tests that passed, the end of it.
keep() { { echo "== $1"; grep -vE '^ok ' "$output" | tail -n 20 | sed 's/^/    /'; } >> "$said"; }

for program; do
    echo "== $program"
    timeout --kill-after=10 "$limit" "$program" < /dev/null 2>&1 | tee "$output"
    status=${PIPESTATUS[0]}
    closing=$(grep -E "$sum" "$output" | tail -n 1)
    if [ "$status" -ne 0 ]; then
        bad=1
        keep "$program"
        case "$closing" in
            *" 0 failed, "* | "")
                echo "failed: ${program##*/}: exit status $status"
                echo "0 passed, 1 failed, 0 skipped" ;;
        esac
    elif [ -z "$closing" ]; then
        bad=1
        keep "$program"
        echo "failed: ${program##*/}: it does not say how many tests passed"
        echo "0 passed, 1 failed, 0 skipped"
    fi
done
if [ $bad -ne 0 ]; then
    echo "What failed:"
    cat "$said"
fi
exit $bad
