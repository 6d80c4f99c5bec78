#!/bin/sh
# Repeats the tables of docs/wv.md and docs/mf.md: scripts/results.sh BIN DATA OUT
#
# BIN has the programs. DATA is a folder with whatever there is of: clic.txt, wikitext-2.txt (texts), questions-words.txt,
# wordsim353.txt (questions), jester.mtx, movielens.csv (ratings); what is missing is passed over. OUT gets a file of JSON
# lines for each run, and a line with the figures is printed.
set -eu

bin=$1 data=$2 out=$3
mkdir -p "$out"

# run NAME NODES PROGRAM [OPTIONS]
run() {
    name=$1 nodes=$2 program=$3
    shift 3
    start=
    [ "$nodes" -eq 1 ] || start="$bin/locus run -n $nodes"
    # shellcheck disable=SC2086 # the words of $start
    if $start "$bin/$program" "$@" --json > "$out/$name.json" 2> "$out/$name.err"; then
        printf '%-32s %s\n' "$name" "$(awk -f "$(dirname "$0")/results.awk" "$out/$name.json")"
    else
        printf '%-32s failed: %s\n' "$name" "$(tail -n 1 "$out/$name.err")"
    fi
}

# techniques NAME PROGRAM [OPTIONS]: the baseline, one to four nodes, and all techniques on two
techniques() {
    task=$1 of=$2
    shift 2
    run "$task-baseline" 1 "$of" "$@" --baseline
    run "$task-1x1" 1 "$of" "$@"
    run "$task-1x2" 1 "$of" "$@" --workers 2
    run "$task-2x1" 2 "$of" "$@"
    run "$task-4x1" 4 "$of" "$@"
    for technique in static relocate replicate full; do
        run "$task-2x1-$technique" 2 "$of" "$@" --technique "$technique"
    done
}

questions=
[ ! -f "$data/questions-words.txt" ] || questions="$questions --analogies $data/questions-words.txt"
[ ! -f "$data/wordsim353.txt" ] || questions="$questions --similarity $data/wordsim353.txt"
# shellcheck disable=SC2086 # the words of $questions
for text in wikitext-2 clic; do
    [ ! -f "$data/$text.txt" ] || techniques "wv-$text" wv --data "$data/$text.txt" $questions
done
small='--rank 10 --bias --lr 0.02 --reg 0.05 --epochs 20'
# shellcheck disable=SC2086 # the words of $small
{
    [ ! -f "$data/jester.mtx" ] || techniques mf-jester mf --data "$data/jester.mtx" $small
    [ ! -f "$data/movielens.csv" ] || techniques mf-movielens mf --data "$data/movielens.csv" $small
}
techniques mf-zipf mf --zipf 100000x10000x5000000 --hold-back 0.02 --rank 100 --epochs 2
run mf-zipf-4x1-blocks 4 mf --zipf 100000x10000x5000000 --hold-back 0.02 --rank 100 --epochs 2 --visit blocks \
    --technique relocate
