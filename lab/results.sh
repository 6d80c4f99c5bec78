#!/bin/sh
# Repeats the tables and drawings of lab/wv.md and lab/mf.md: lab/results.sh PROGRAMS DATA OUT [SECTION...]
#
# PROGRAMS has the programs; DATA is a folder in which, at any depth, whatever there is of these is found: clic.txt and
# wiki.train.tokens (texts), questions-words.txt and EN-WS-353-ALL.txt (questions), jester-1.mtx, ratings.csv and zipf.mtx
# (matrices; the last one is made if it is not there). What is missing is passed over, by name. SECTION is the beginning of a
# section's name; without any, all are run, which takes about 25 minutes on two processors.
#
# OUT/SECTION/ gets the JSON lines of each run, OUT/SECTION.md and OUT/SECTION.svg what lab/results.awk makes of them.
# The runs of a section take turns; TURNS are their seeds ('1 2 3'). A section may be run in pieces, turn by turn. No run may
# take longer than RUN_SECONDS (120).
# shellcheck disable=SC2086 # options are words
set -eu

[ $# -ge 3 ] || {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
bin=$1 data=$2 out=$3
shift 3
here=$(dirname "$0")
turns=${TURNS:-1 2 3} run_seconds=${RUN_SECONDS:-120}
began=$(date +%s)
failed=0 number=0 turn=0 section=

# ---- one run ----

failure() { # NAME STATUS
    case $2 in
    124 | 137) echo "took longer than $run_seconds s" ;;
    *) tail -n 1 "$1.err" ;;
    esac
}

# run LABEL NODES PROGRAM [OPTIONS]
run() {
    label=$1 nodes=$2 program=$3 status=0
    shift 3
    number=$((number + 1))
    name=$out/$section/$(printf %02d $number).$turn
    start=
    [ "$nodes" -eq 1 ] || start="$bin/locus run -n $nodes --"
    printf '{"label":"%s"}\n' "$label" > "$name.part"
    timeout --kill-after=5 "$run_seconds" $start "$bin/locus-$program" "$@" --seed "$turn" --json >> "$name.part" \
        2> "$name.err" < /dev/null || status=$?
    if [ $status -eq 0 ]; then
        mv "$name.part" "$name.json"
        said=$(awk -f "$here/results.awk" -v line=1 "$name.json")
    else
        failed=$((failed + 1))
        said="failed: $(failure "$name" $status)"
    fi
    printf '%5d s  %-20s %-30s turn %d  %s\n' $(($(date +%s) - began)) "$section" "$label" "$turn" "$said"
}

# ---- what is there ----

pass_over() {
    echo "passed over: $section: $1"
    return 1
}

# find_data NAME: sets $found
find_data() {
    found=$(find -L "$data" -name "$1" -type f 2> /dev/null | sort | head -n 1)
    [ -n "$found" ] || pass_over "there is no $1 in '$data'"
}

# The first words of a text: words FILE COUNT NAME; sets $found
words() {
    found=$out/$3
    [ -f "$found" ] || awk -v most="$2" '{ print; words += NF } words >= most { exit }' "$1" > "$found"
}

find_questions() {
    questions=
    if find_data questions-words.txt; then questions="--analogies $found"; fi
    if find_data EN-WS-353-ALL.txt; then questions="$questions --similarity $found"; fi
    [ -n "$questions" ]
}

# The command that made the matrix of the documents.
find_zipf() {
    find_data zipf.mtx > /dev/null && return
    found=$out/zipf.mtx
    [ -f "$found" ] && return
    echo "making $found"
    "$bin/locus-mf" --zipf 100000x10000x5000000 --rank 1 --epochs 1 --baseline --write "$found" > /dev/null
}

# ---- what several sections have in common ----

# sizes PROGRAM [OPTIONS]: the baseline, and one to four nodes
sizes() {
    run 'plain arrays' 1 "$@" --baseline
    run 'plain arrays, 2 workers' 1 "$@" --workers 2 --baseline
    run '1 node' 1 "$@"
    run '1 node, 2 workers' 1 "$@" --workers 2
    run '2 nodes' 2 "$@"
    run '4 nodes' 4 "$@"
}

# techniques NODES PROGRAM [OPTIONS]
techniques() {
    nodes_of_all=$1
    shift
    for technique in adaptive static relocate replicate full; do
        run "$nodes_of_all nodes, $technique" "$nodes_of_all" "$@" --technique "$technique"
    done
}

# ---- the sections: need_NAME says what to run on, run_NAME is a turn ----
# Where a technique waits for the network at each step, wv ends after 10 seconds: the rate until then is what counts.

need_mf_zipf_sizes() {
    find_zipf
    mf="mf --data $found --hold-back 0.02 --rank 100 --adagrad coordinate"
}
run_mf_zipf_sizes() { sizes $mf --epochs 5; }
need_mf_zipf_2_nodes() { need_mf_zipf_sizes; }
run_mf_zipf_2_nodes() {
    techniques 2 $mf --epochs 2
    run '2 nodes, relocate, blocks' 2 $mf --epochs 2 --technique relocate --visit blocks
}
need_mf_zipf_4_nodes() { need_mf_zipf_sizes; }
run_mf_zipf_4_nodes() {
    techniques 4 $mf --epochs 2
    run '4 nodes, relocate, blocks' 4 $mf --epochs 2 --technique relocate --visit blocks
}

need_mf_jester() {
    find_data jester-1.mtx || return 1
    mf="mf --data $found --rank 10 --bias --lr 0.02 --reg 0.05 --epochs 20 --adagrad coordinate"
}
run_mf_jester() { sizes $mf; }
need_mf_movielens() {
    find_data ratings.csv || return 1
    mf="mf --data $found --rank 10 --bias --lr 0.02 --reg 0.05 --epochs 20 --adagrad coordinate"
}
run_mf_movielens() {
    sizes $mf
    techniques 2 $mf
}

need_wv_sizes() {
    find_data wiki.train.tokens || return 1
    words "$found" 1000000 wikitext-1m.txt
    wv="wv --data $found --epochs 1"
}
run_wv_sizes() { sizes $wv; }
need_wv_all_words() {
    need_wv_sizes || return 1
    wv="$wv --subsample 0"
}
run_wv_all_words() { sizes $wv; }
need_wv_2_nodes() { need_wv_sizes; }
run_wv_2_nodes() { techniques 2 $wv --seconds 10; }
need_wv_4_nodes() { need_wv_sizes; }
run_wv_4_nodes() { techniques 4 $wv --seconds 10; }
need_wv_sampling() { need_wv_sizes; }
run_wv_sampling() {
    for nodes_of_all in 1 2 4; do
        for level in conform bounded long-term non-conform; do
            run "$nodes_of_all node$([ "$nodes_of_all" -eq 1 ] || echo s), $level" "$nodes_of_all" $wv --sampling $level
        done
        run "$nodes_of_all node$([ "$nodes_of_all" -eq 1 ] || echo s), shared" "$nodes_of_all" $wv --shared-negatives
    done
}

need_wv_quality() {
    find_questions || return 1
    find_data clic.txt || return 1
    words "$found" 2000000 novels-2m.txt
    wv="wv --data $found $questions"
}
run_wv_quality() {
    run 'plain arrays' 1 $wv --baseline
    run '1 node' 1 $wv
    run '2 nodes' 2 $wv
    run '4 nodes' 4 $wv
}
need_wv_quality_sampling() { need_wv_quality; }
run_wv_quality_sampling() {
    for nodes_of_all in 2 4; do
        for level in conform bounded long-term non-conform; do
            run "$nodes_of_all nodes, $level" "$nodes_of_all" $wv --sampling $level
        done
        run "$nodes_of_all nodes, shared negatives" "$nodes_of_all" $wv --shared-negatives
    done
}

# ---- all of them ----

sections='mf_zipf_sizes mf_zipf_2_nodes mf_zipf_4_nodes mf_jester mf_movielens'
sections="$sections wv_sizes wv_all_words wv_2_nodes wv_4_nodes wv_sampling wv_quality wv_quality_sampling"

wanted() { # NAME PREFIX...
    name=$1
    shift
    [ $# -gt 0 ] || return 0
    for prefix; do
        case $name in "$prefix"*) return 0 ;; esac
    done
    return 1
}

run_section() {
    section=$1
    if ! "need_$section"; then return 0; fi
    mkdir -p "$out/$section"
    for turn in $turns; do
        number=0
        rm -f "$out/$section/"*".$turn".*
        "run_$section"
    done
    set -- "$out/$section/"*.json
    [ -f "$1" ] || return 0
    awk -f "$here/results.awk" -v title="$section" -v svg="$out/$section.svg" "$@" > "$out/$section.md"
    cat "$out/$section.md"
}

mkdir -p "$out"
found_any=
for each in $sections; do
    wanted "$each" "$@" || continue
    found_any=1
    run_section "$each"
done
[ -n "$found_any" ] || {
    echo "there is no section $*; there are $sections" >&2
    exit 2
}
echo "$failed runs failed; tables and drawings: $out"
[ $failed -eq 0 ]
