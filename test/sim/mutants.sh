#!/usr/bin/env bash
# Can the simulations fail? Each edit in mutants/SET breaks what ships in one small way; the simulations of that set must
# find every one.
#
#   test/sim/mutants.sh SET [TEXT]   those whose name contains TEXT
#   RENEW=1 test/sim/mutants.sh ...  and writes into a mutant what finds it now, if it is another run
#
# local      the store, and whose turn it is; found by local_fibers, copies or turn
# schedule   what is updated next, and by whom; found by schedule
# protocol   what nodes say to each other; found by protocol or exhaustive
# checkpoint rows to files and back; found by checkpoint
#
# A mutant is a sed script. Its first lines name the file that it changes, say what is broken then, and what finds it: that
# one run is tried first, and must find nothing in what ships. If it does not find the mutant any more, more are tried, which
# takes long.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
usage() { echo "usage: $0 local|schedule|protocol|checkpoint [TEXT]" >&2; exit 2; }
[ $# -ge 1 ] || usage
set=$1 text=${2:-}
shared=(test/sim/fibers.c test/sim/history.c test/sim/content.c test/sim/seeds.c)
case $set in
    local) programs=(local_fibers copies turn) finding='^seed.*' ;;
    schedule) programs=(schedule) finding='^seed.*' ;;
    protocol) programs=(protocol exhaustive) finding='violation: .*' ;;
    checkpoint) programs=(checkpoint) finding='^seed.*' shared+=(test/sim/protocol/{joined,platform}.c test/common/memory_files.c) ;;
    *) usage ;;
esac
mutants=("$here/mutants/$set"/*"$text"*.sed)
[ -e "${mutants[0]}" ] || { echo "There is no mutant in mutants/$set whose name contains: $text" >&2; exit 2; }

cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -w -DLOCUS_FIBERS -Iinclude -Isrc -Itest)
libraries=(-pthread -lck -luring -lnng -lsodium -ljansson -lmicrohttpd -lm)
# What ships, as `make sim` has built it.
made=$root/build/$(basename "$cc")-fibers
make -s -C "$root" -j"$(nproc)" CC="$cc" "${programs[@]/#/${made#"$root"/}/test/sim/}" > /dev/null || exit 1

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/include" "$root/src" "$tree"
mkdir -p "$tree/test" && cp -r "$root/test/sim" "$root/test/common" "$tree/test"
cd "$tree" || exit 2
mapfile -t sources < <(find src -name '*.c')
passed=0 failed=0

# ---- finding ---------------------------------------------------------------------------------------------------------

run_of() { sed -n 's/^# run: //p' "$1"; }

# fails <seconds> <folder> <program> <arguments>: prints how. Seconds are of the processor, so that a busy machine does not find what
# the simulation does not; nor does their end find anything.
fails() {
    local seconds=$1 folder=$2 program=$3 how status
    shift 3
    [ -e "$folder/$program" ] || link "$program" > messages 2>&1 || return 1
    (
        ulimit -S -t "$seconds"
        LOCUS_SIM_BRIEF=1 exec timeout $((20 * seconds)) "$folder/$program" "$@" > output 2>&1
    )
    status=$?
    how=$(grep -m 1 -o "$finding" output)
    # Beyond its time (152: SIGXCPU), or not of a simulation (124 to 127)
    [ "$status" -eq 1 ] || { [ "$status" -ge 128 ] && [ "$status" -ne 152 ] && how=${how:-signal $((status - 128))}; } || return 1
    [ "$how" ] && [[ $how != *"ended by signal 24 "* ]] || return 1
    echo "$program: $(cut -c -79 <<< "${how#violation: }")"
}

# find_widely <mutant>: without its run, which has found nothing; and notes what finds it now.
find_widely() {
    local before run words program
    run=$(run_of "$1") before=$run program=${run%% *}
    read -ra words <<< "$(sed 's/^[a-z_]* *//; s/--\(seed\|seeds\|schedule\) [0-9]*//g' <<< "$run")"
    { [[ $run != exhaustive* ]] && fails 120 mutant "${program:-${programs[0]}}" --seeds 12000 "${words[@]}"; } ||
        { [ "$set" = protocol ] && fails 300 mutant exhaustive --known; } || return 1
    run=$(sed -n 's/^ *replay: //p' output | head -n 1)
    if [ "${RENEW:-}" ]; then
        sed -i "/^# run:/d; 2a # run: $run" "$1"
    elif [ "$before" ]; then
        echo "    (not by its line \"run:\" any more; by: $run)"
    fi
}

# finds <folder> <mutant>: does its run find something with the programs of this folder?
finds() {
    local run words
    run=$(run_of "$2")
    [[ $run == *"--seed "* || $run == *--scenario* ]] && eval "words=($run)" && fails 300 "$1" "${words[@]}"
}

# ---- building --------------------------------------------------------------------------------------------------------

# objects <sources>: of the mutant, or of what ships
objects() {
    local source object
    for source; do
        [ -e "$source" ] || continue
        object=${source%.c}.o
        if [ -e "mutant/$object" ]; then echo "mutant/$object"; else echo "$made/obj/$object"; fi
    done
}

# link <program>: what a simulated cluster replaces stays in the archive; exhaustive keeps all memory in an arena of its own.
link() {
    local program=$1 options=() parts
    [ "$program" = exhaustive ] && mapfile -t options < <(printf -- "-Wl,--wrap=%s\n" malloc calloc realloc aligned_alloc free)
    mapfile -t parts < <(objects "test/sim/$program"{,/*}.c "${shared[@]}")
    objects "${sources[@]}" | xargs ar rcsT mutant/lib.a &&
        "$cc" -Wl,-S "${options[@]}" "${parts[@]}" mutant/lib.a "${libraries[@]}" -o "mutant/$program"
}

# build <changed file>: what depends on it
build() {
    local source
    rm -rf mutant && mkdir mutant
    for source in $(cd "$made/obj" && grep -rlwF --include='*.d' "$1" src test/sim | sed 's/d$/c/'); do
        [ -e "$source" ] || continue # it was moved since
        mkdir -p "mutant/${source%/*}"
        "$cc" "${flags[@]}" -c "$source" -o "mutant/${source%.c}.o" || return 1
    done
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
    finds mutant "$mutant" || find_widely "$mutant" || { echo "it survived"; return 1; }
    ! finds "$made/test/sim" "$mutant" || { echo "so is what ships"; return 1; }
}

touch output
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
