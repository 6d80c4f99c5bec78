#!/usr/bin/env bash
# Can the simulations fail? Each edit in mutants/SET breaks what ships in one small way; the simulations of that set must
# find every one.
#
#   test/sim/mutants.sh SET [TEXT]   those whose name contains TEXT
#
# local      the store; found by local_fibers
# schedule   what is updated next, and by whom; found by schedule
# protocol   what nodes say to each other; found by protocol or exhaustive
# checkpoint rows to files and back; found by checkpoint
#
# A mutant is a sed script. Its first lines name the file that it changes and say what is broken then; in protocol also
# "by: exhaustive" that every course must be tried, and "run:" which storms find it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
usage() { echo "usage: $0 local|schedule|protocol|checkpoint [TEXT]" >&2; exit 2; }
[ $# -ge 1 ] || usage
set=$1 text=${2:-}
mutants=("$here/mutants/$set"/*"$text"*.sed)
[ -e "${mutants[0]}" ] || { echo "There is no mutant in mutants/$set whose name contains: $text" >&2; exit 2; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/include" "$root/src" "$tree"
mkdir -p "$tree/test" && cp -r "$root/test/sim" "$root/test/common" "$tree/test"
cd "$tree" || exit 2

cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -w -DLOCUS_FIBERS -Iinclude -Isrc -Itest)
libraries=(-pthread -lck -luring -lnng -lsodium -ljansson -lmicrohttpd -lm)
shared=(test/sim/fibers.c test/sim/history.c test/sim/content.c test/sim/seeds.c)
passed=0 failed=0

# ---- what differs between the sets -----------------------------------------------------------------------------------

case $set in
    local)
        programs=(local_fibers) finding='^seed.*'
        sources=(src/store/*.c src/base/*.c test/sim/local_fibers.c) ;;
    schedule)
        programs=(schedule) finding='^seed.*'
        sources=(src/scheduling/*.c src/base/*.c test/sim/schedule/*.c) ;;
    protocol)
        programs=(protocol exhaustive) finding='violation: .*'
        mapfile -t sources < <(find src test/sim/protocol test/sim/exhaustive -name '*.c' | sort) ;;
    checkpoint)
        programs=(checkpoint) finding='^seed.*'
        shared+=(test/sim/protocol/platform.c test/common/memory_files.c)
        mapfile -t sources < <(find src test/sim/checkpoint -name '*.c' | sort) ;;
    *) usage ;;
esac

# Do the programs find nothing in what ships?
is_sound() {
    case $set in
        local) original/local_fibers --seeds 200 ;;
        schedule) original/schedule ;;
        protocol) original/exhaustive --calls 2 && original/protocol --seeds 200 ;;
        checkpoint) original/checkpoint --seeds 200 ;;
    esac
}

# find_mutant <mutant>: those that say so are exhaustive's to find, the others of their set whoever's.
find_mutant() {
    if [ "$set" = local ]; then
        fails 20 local_fibers --seeds 10000
    elif [ "$set" = schedule ]; then
        fails 20 schedule
    elif [ "$set" = checkpoint ]; then
        fails 40 checkpoint --seeds 2500
    elif grep -q '^# by: exhaustive' "$1"; then
        fails 30 exhaustive --known
    else
        # Word by word.
        # shellcheck disable=SC2046
        fails 20 protocol --seeds 3000 $(sed -n 's/^# run: //p' "$1") || fails 30 exhaustive --known
    fi
}

# fails <seconds> <program> <arguments>: prints how. A hang counts: it would end the check by its time limit. Seconds are of
# the processor, so that a busy machine does not find what the simulation does not.
fails() {
    local seconds=$1 program=$2
    shift 2
    (
        ulimit -t "$seconds"
        LOCUS_SIM_BRIEF=1 exec timeout $((10 * seconds)) "mutant/$program" "$@" > output 2>&1
    ) && return 1
    echo "$program: $(grep -m 1 -o "$finding" output | sed 's/^violation: //' | cut -c -79 | grep . || echo "a hang")"
}

# What linking a program takes besides: exhaustive keeps all memory in an arena of its own.
options_of() {
    [ "$1" = exhaustive ] && printf -- '-Wl,--wrap=%s\n' malloc calloc realloc aligned_alloc free
}

# ---- building --------------------------------------------------------------------------------------------------------

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

# link <folder>: what a simulated cluster replaces stays in the archive.
link() {
    local folder=$1 program source objects options
    rm -f "$folder/lib.a" && ar rcs "$folder/lib.a" "$folder"/src:*.o || return 1
    for program in "${programs[@]}"; do
        objects=("$folder/test:sim:$program"[.:]*o)
        for source in "${shared[@]}"; do objects+=("$folder/$(object "$source")"); done
        mapfile -t options < <(options_of "$program")
        "$cc" "${options[@]}" "${objects[@]}" "$folder/lib.a" "${libraries[@]}" -o "$folder/$program" || return 1
    done
}

# build <changed file>: in mutant/, anew what depends on it, the rest as it is in original/.
build() {
    local changed=$1 dependent
    rm -rf mutant && mkdir mutant && cp original/*.o mutant
    mapfile -t dependent < <(grep -lwF "$changed" original/*.d | xargs -n 1 grep -ohm 1 '[^ ]*\.c' | sort -u)
    compile mutant "${dependent[@]}" && link mutant
}

# try <mutant>: prints how it was found, or why not; fails when it was not.
try() {
    local mutant=$1 file built
    file=$(sed -n 's/^# file: //p' "$mutant")
    cp "$file" kept
    sed -i -f "$mutant" "$file"
    if cmp -s "$file" kept; then
        echo "the edit changes nothing any more"
        return 1
    fi
    build "$file" > messages 2>&1
    built=$?
    mv kept "$file"
    if [ "$built" -ne 0 ]; then
        echo "it does not compile: $(grep -m 1 error messages)"
        return 1
    fi
    find_mutant "$mutant" || { echo "it survived"; return 1; }
}

mkdir original && touch output
if ! { compile original "${sources[@]}" "${shared[@]}" && link original; } > messages 2>&1 || ! is_sound > output 2>&1; then
    cat messages output
    echo "failed: the library as it is"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
for mutant in "${mutants[@]}"; do
    name=$(basename "$mutant" .sed)
    if result=$(try "$mutant"); then
        passed=$((passed + 1))
        printf 'found   %-36s %s\n' "$name" "$result"
    else
        failed=$((failed + 1))
        printf 'FAILED  %-36s %s\n' "$name" "$result"
        echo "failed: mutant $name: $result"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
