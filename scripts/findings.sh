#!/usr/bin/env bash
# Runs findings/*.sh, or those whose name contains one of the words given: each prints what it saw. The last line is the sum.
set -u
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0
for script in findings/*.sh; do
    name=$(basename "$script" .sh) chosen=$#
    for word; do [[ $name == *"$word"* ]] && chosen=0; done
    [ "$chosen" -eq 0 ] || continue
    echo "== $name"
    if timeout 600 "$script" < /dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: findings/$name"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
