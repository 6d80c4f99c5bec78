#!/usr/bin/env bash
# Can the protocol's simulations fail? Each edit in mutants/protocol breaks what ships in one small way; protocol or
# exhaustive must find every one.
#
#   test/sim/protocol_mutants.sh [TEXT]   those whose name contains TEXT
#
# A mutant is a sed script. Its first lines name the file that it changes and say what is broken then; "by: exhaustive"
# that every course must be tried, "run:" which storms find it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/include" "$root/src" "$tree"
mkdir -p "$tree/test" && cp -r "$root/test/sim" "$tree/test"
cd "$tree" || exit 2

cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -w -DLOCUS_FIBERS -Iinclude -Isrc -Itest)
shared=(test/sim/fibers.c test/sim/history.c test/sim/content.c)
libraries=(-pthread -lck -lm)
wraps=()
for call in malloc calloc realloc aligned_alloc free; do wraps+=("-Wl,--wrap=$call"); done
passed=0 failed=0

# What an object is called: its source, with other slashes.
object() { local name=${1%.c}; echo "${name//\//:}.o"; }

# compile <folder> <sources>
compile() {
    local folder=$1 source
    shift
    for source; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || return 1; done
        "$cc" "${flags[@]}" -MMD -c "$source" -o "$folder/$(object "$source")" &
    done
    while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n || return 1; done
}

# link <folder>: what the simulated cluster replaces stays in the archive.
link() {
    rm -f "$1/lib.a"
    ar rcs "$1/lib.a" "$1"/src:*.o &&
        "$cc" "$1"/test:sim:protocol:*.o "${shared_objects[@]/#/$1/}" "$1/lib.a" "${libraries[@]}" -o "$1/protocol" &&
        "$cc" "${wraps[@]}" "$1"/test:sim:exhaustive:*.o "${shared_objects[@]/#/$1/}" "$1/lib.a" "${libraries[@]}" \
            -o "$1/exhaustive"
}

# build <folder> <changed file>: anew what depends on it, the rest as it is in original/.
build() {
    local folder=$1 changed=$2 sources
    mkdir -p "$folder" && cp original/*.o "$folder"
    mapfile -t sources < <(grep -lwF "$changed" original/*.d | xargs -n 1 grep -ohm 1 '[^ ]*\.c' | sort -u)
    compile "$folder" "${sources[@]}" && link "$folder"
}

# Prints how the mutant was found; fails when it was not. A hang counts: it would end the check by its time limit.
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
    # Those that say so are exhaustive's to find; the others whoever's.
    if grep -q '^# by: exhaustive' "$mutant"; then
        find_exhaustively
    else
        find_by_chance || find_exhaustively
    fi || { echo "it survived"; return 1; }
}

find_by_chance() {
    # Word by word.
    # shellcheck disable=SC2046
    ! LOCUS_SIM_BRIEF=1 timeout 20 mutant/protocol --seeds 3000 $(sed -n 's/^# run: //p' "$mutant") > output 2>&1 && echo "protocol: $(reason)"
}

find_exhaustively() {
    ! timeout 30 mutant/exhaustive --known > output 2>&1 && echo "exhaustive: $(reason)"
}

reason() { grep -m 1 -o 'violation: .*' output | cut -c 12-90 | grep . || echo "a hang"; }

mapfile -t sources < <(find src test/sim/protocol test/sim/exhaustive -name '*.c' | sort)
shared_objects=()
for source in "${shared[@]}"; do shared_objects+=("$(object "$source")"); done
mkdir original
if ! { compile original "${sources[@]}" "${shared[@]}" && link original; } > messages 2>&1 ||
    ! original/exhaustive --calls 2 > output 2>&1 || ! original/protocol --seeds 200 > output 2>&1; then
    cat messages output
    echo "failed: the library as it is"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
for mutant in "$here"/mutants/protocol/*"${1:-}"*.sed; do
    name=$(basename "$mutant" .sed)
    if result=$(try "$mutant"); then
        passed=$((passed + 1))
        printf 'found   %-36s %s\n' "$name" "$result"
    else
        failed=$((failed + 1))
        printf 'FAILED  %-36s %s\n' "$name" "$result"
        echo "failed: mutant $name: $result"
    fi
    rm -rf mutant
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
