#!/usr/bin/env bash
# Can the simulations fail? Each edit in mutants/SET breaks what ships in one small way; the simulations of that set must
# find every one.
#
#   test/sim/mutants.sh all|SET [TEXT]   those whose name contains TEXT, side by side
#   test/sim/mutants.sh --rotated        a third of all, which the commit decides, and those whose file changed lately
#   RENEW=1 test/sim/mutants.sh ...      and writes into a mutant what finds it now, if it is another run
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
usage() { echo "usage: $0 all|local|schedule|protocol|checkpoint [TEXT] | --rotated" >&2; exit 2; }
cc=${CC:-gcc}
# What ships, as `make sim` has built it.
made=$root/build/$(basename "$cc")-fibers

# programs_of SET: what finds its mutants, likeliest first
programs_of() {
    case $1 in
        local) echo local_fibers copies turn ;;
        schedule) echo schedule ;;
        protocol) echo protocol exhaustive ;;
        checkpoint) echo checkpoint ;;
    esac
}

# ---- all that were asked for, side by side -----------------------------------------------------------------------------

is_asked_for() {
    local file
    [ "$wanted" = --rotated ] || return 0
    read -r _ _ file < "$1"
    grep -qxF "$file" <<< "$changed" || in_rotation "$(basename "$1")" 3
}

run_all() {
    local mutant set programs=() failed passed
    for set in local schedule protocol checkpoint; do
        for mutant in "$here/mutants/$set"/*"$text"*.sed; do
            [ -e "$mutant" ] && [[ $wanted =~ ^(all|--rotated|$set)$ ]] && is_asked_for "$mutant" && mutants+=("$mutant")
        done
        # shellcheck disable=SC2207
        programs+=($(programs_of $set))
    done
    [ ${#mutants[@]} -gt 0 ] || { echo "There is no mutant in mutants/ whose name contains: $text" >&2; exit 2; }
    make -s -C "$root" -j"$(nproc)" CC="$cc" "${programs[@]/#/${made#"$root"/}/test/sim/}" > /dev/null || exit 1
    results=$(mktemp -d)
    trap 'rm -rf "$results"' EXIT
    # A mutant's line is written whole.
    printf '%s\0' "${mutants[@]}" | xargs -0 -n 1 -P "$(nproc)" "$0" --one "$results"
    grep -hs '^failed: ' "$results"/*.line
    failed=$(cat "$results"/*.line | grep -c '^failed: ') passed=$(cat "$results"/*.line | grep -c '^found ')
    echo "$passed passed, $((${#mutants[@]} - passed)) failed, 0 skipped"
    [ "$passed" -eq ${#mutants[@]} ] && [ "$failed" -eq 0 ]
}

wanted=${1:-} text=${2:-} mutants=()
case $wanted in
    all | local | schedule | protocol | checkpoint) run_all; exit ;;
    --rotated)
        # shellcheck source=scripts/rotation.sh
        cd "$root" && . scripts/rotation.sh || exit 2
        changed=$(changed_files)
        echo "of commit number $(rotation): ROTATION=N repeats another's"
        run_all
        exit ;;
    --one) ;;
    *) usage ;;
esac

# ---- one mutant, in a tree of its own -----------------------------------------------------------------------------------

results=$2 mutant=$3 set=$(basename "$(dirname "$3")") name=$(basename "$3" .sed)
shared=(test/sim/fibers.c test/sim/history.c test/sim/content.c test/sim/seeds.c)
case $set in
    protocol) finding='violation: .*' ;;
    checkpoint) finding='^seed.*' shared+=(test/sim/protocol/{joined,platform{,_changes,_links}}.c test/common/memory_files.c) ;;
    *) finding='^seed.*' ;;
esac
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -w -DLOCUS_FIBERS -Iinclude -Isrc -Itest)
libraries=(-pthread -lck -luring -lnng -lsodium -ljansson -lmicrohttpd -lm)
compile=("$cc")
command -v ccache > /dev/null && compile=(ccache "$cc")

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/include" "$root/src" "$tree"
mkdir -p "$tree/test" && cp -r "$root/test/sim" "$root/test/common" "$tree/test"
cd "$tree" || exit 2
mapfile -t sources < <(find src -name '*.c')

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
    { [[ $run != exhaustive* ]] && fails 120 mutant "${program:-$(programs_of "$set" | cut -d" " -f1)}" --seeds 12000 "${words[@]}"; } ||
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

# ships_well <mutant>: its run finds nothing in what ships. Of several mutants with one run, the first looks.
ships_well() {
    local sum
    read -r sum _ < <(run_of "$1" | cksum)
    [ -e "$results/$sum.well" ] || { ! finds "$made/test/sim" "$1" && touch "$results/$sum.well"; }
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
        "${compile[@]}" "${flags[@]}" -c "$source" -o "mutant/${source%.c}.o" || return 1
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
    ships_well "$mutant" || { echo "so is what ships"; return 1; }
}

touch output
line=$results/$set-$name.line
if result=$(try "$mutant"); then
    printf 'found   %-10s %-36s %s\n' "$set" "$name" "$result" > "$line"
else
    { printf 'FAILED  %-10s %-36s %s\n' "$set" "$name" "$result"; echo "failed: mutant $set/$name: $result"; } > "$line"
fi
sed '/^failed: /d' "$line"
