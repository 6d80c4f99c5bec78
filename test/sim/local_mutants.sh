#!/usr/bin/env bash
# Can local_fibers fail? Each edit in mutants/local breaks the store in one small way; local_fibers must find every one.
#
#   test/sim/local_mutants.sh [TEXT]   those whose name contains TEXT
#
# A mutant is a sed script. Its first lines name the file that it changes and say what is broken then.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/include" "$root/src" "$tree"
mkdir -p "$tree/test" && cp -r "$root/test/sim" "$tree/test"
cd "$tree" || exit 2

cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O0 -w -DLOCUS_FIBERS -Iinclude -Isrc)
sources=(src/store/*.c src/error.c test/sim/*.c)
passed=0 failed=0

# compile <folder> <sources>
compile() {
    local folder=$1 source
    shift
    for source; do
        "$cc" "${flags[@]}" -MMD -c "$source" -o "$folder/$(basename "$source" .c).o" || return 1
    done
}

link() { "$cc" "$1"/*.o -lck -o "$1/local_fibers"; }

# build <folder> <changed file>: anew what depends on it, the rest as it is in original/.
build() {
    local folder=$1 changed=$2 name
    mkdir -p "$folder" && cp original/*.o "$folder"
    while read -r name; do
        compile "$folder" "$(grep -om 1 '[^ ]*\.c' "$name")" || return 1
    done < <(grep -lwF "$changed" original/*.d)
    link "$folder"
}

# Prints how the mutant was found; fails when it was not.
try() {
    local mutant=$1 file
    file=$(sed -n 's/^# file: //p' "$mutant")
    cp "$file" kept
    sed -i -f "$mutant" "$file"
    if cmp -s "$file" kept; then
        echo "the edit changes nothing any more"
        return 1
    fi
    build mutant "$file" > messages 2>&1
    local built=$?
    mv kept "$file"
    if [ "$built" -ne 0 ]; then
        echo "it does not compile: $(grep -m 1 error messages)"
        return 1
    fi
    # A hang counts: it would end the check by its time limit.
    if timeout 20 mutant/local_fibers --seeds 10000 > output 2>&1; then
        echo "it survived"
        return 1
    fi
    grep -m 1 '^seed' output || echo "a hang"
}

mkdir original
if ! { compile original "${sources[@]}" && link original; } > messages 2>&1 || ! original/local_fibers --seeds 200 > output 2>&1; then
    cat messages output
    echo "failed: the store as it is"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
for mutant in "$here"/mutants/local/*"${1:-}"*.sed; do
    name=$(basename "$mutant" .sed)
    if result=$(try "$mutant"); then
        passed=$((passed + 1))
        printf 'found   %-32s %s\n' "$name" "$result"
    else
        failed=$((failed + 1))
        printf 'FAILED  %-32s %s\n' "$name" "$result"
        echo "failed: mutant $name: $result"
    fi
    rm -rf mutant
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
