#!/usr/bin/env bash
# Runs test programs, each with a time limit, as many at a time as PROGRAMS_AT_ONCE says (1 unless told). Every program closes
# with "N passed, N failed, N skipped"; one that ends badly without counting a failure, or counts nothing, is counted as failed
# here. A program's output comes in one piece, and what the bad ones said once more at the end.
set -u
limit=$((1200 + 20 * ${LOCUS_TEST_SECONDS:-5}))
at_once=${PROGRAMS_AT_ONCE:-1}
sum='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run NUMBER PROGRAM: what it said, and behind it what is counted for it here; a file NUMBER.bad if it is bad.
run() {
    local output=$folder/$1 program=$2 status closing fault=
    timeout --kill-after=10 "$limit" "$program" < /dev/null > "$output" 2>&1
    status=$?
    closing=$(grep -E "$sum" "$output" | tail -n 1)
    if [ "$status" -ne 0 ]; then
        fault="exit status $status"
        [[ $closing =~ ^$|\ 0\ failed, ]] || fault="its own"
    elif [ -z "$closing" ]; then
        fault="it does not say how many tests passed"
    fi
    if [ "$fault" ]; then
        { echo "== $program"; grep -vE '^ok ' "$output" | tail -n 20 | sed 's/^/    /'; } > "$output.bad"
        [ "$fault" = "its own" ] || printf 'failed: %s: %s\n0 passed, 1 failed, 0 skipped\n' "${program##*/}" "$fault" >> "$output"
    fi
    { echo "== $program"; cat "$output"; } > "$output.all"
    cat "$output.all"
}

number=1000
for program; do
    while [ "$(jobs -pr | wc -l)" -ge "$at_once" ]; do wait -n; done
    number=$((number + 1))
    run $number "$program" &
done
wait
if compgen -G "$folder/*.bad" > /dev/null; then
    echo "What failed:"
    cat "$folder"/*.bad
    exit 1
fi
