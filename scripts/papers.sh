#!/usr/bin/env bash
# The papers' results on modelled machines: runs each cell of bench/papers that has no result yet, then writes docs/papers.md
# and its drawings from all results.
#
#     scripts/papers.sh PAPERS DATA RESULTS [CELL...]
#
# DATA holds fb15k-237/ (train.txt, valid.txt, test.txt) and text.txt; what is not there is passed over. A cell is a line of
# CELLS; names may be given to run only those.
set -u
papers=$1 data=$2 results=$3
shift 3
mkdir -p "$results"

# One fact a step and 6 + 6 negatives, as AdaPM's own program has it on this graph.
declare -A options=(
    [kge]="--data $data/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs 3"
    [mf]="--zipf 20000x2000x1000000 --rank 100 --eval-every 1 --epochs 6"
    [wv]="--data $data/text.txt --subsample 0.001 --epochs 2"
)

# A step's time. `their`: what AdaPM's programs take on the machine where ours were measured, by the seconds of an epoch;
# `our`: our programs' --baseline there.
declare -A steps=(
    [their_kge]="step=49600,prepare=2000" [our_kge]="step=840,prepare=150"
    [their_mf]="step=1530,prepare=60" [our_mf]="step=88,prepare=20"
    [their_wv]="step=3700,prepare=100" [our_wv]="step=220,prepare=40"
)

# name, program, nodes, workers a node, machine, steps, further model, further options
CELLS='
kge-adaptive-1      kge  1 8 nups their - -
kge-adaptive-8      kge  8 8 nups their - -
kge-full-8          kge  8 8 nups their - --technique=full
kge-replicate-8     kge  8 8 nups their - --technique=replicate
kge-relocate-8      kge  8 8 nups their - --technique=relocate
kge-static-8        kge  8 8 nups their - --technique=static
mf-adaptive-1       mf   1 8 nups their - -
mf-adaptive-2       mf   2 8 nups their - -
mf-adaptive-4       mf   4 8 nups their - -
mf-adaptive-8       mf   8 8 nups their - -
mf-adaptive-16      mf  16 8 nups their - -
mf-full-8           mf   8 8 nups their - --technique=full
mf-replicate-8      mf   8 8 nups their - --technique=replicate
mf-relocate-8       mf   8 8 nups their - --technique=relocate
mf-static-8         mf   8 8 nups their - --technique=static
wv-adaptive-1       wv   1 8 nups their - -
wv-adaptive-8       wv   8 8 nups their - -
kge-adaptive-2      kge  2 8 nups their - -
kge-adaptive-4      kge  4 8 nups their - -
kge-adaptive-16     kge 16 8 nups their - -
wv-adaptive-2       wv   2 8 nups their - -
wv-adaptive-4       wv   4 8 nups their - -
wv-adaptive-16      wv  16 8 nups their - -
wv-full-8           wv   8 8 nups their - --technique=full
wv-replicate-8      wv   8 8 nups their - --technique=replicate
wv-relocate-8       wv   8 8 nups their - --technique=relocate
wv-static-8         wv   8 8 nups their - --technique=static
'

wanted() {
    local name=$1 one
    shift
    [ $# -eq 0 ] && return 0
    for one; do [ "$one" = "$name" ] && return 0; done
    return 1
}

# run NAME PROGRAM NODES WORKERS MACHINE STEPS MODEL OPTIONS: the result appears when it is whole
run() {
    local out=$results/$1.json model=${steps[$6_$2]} more=$8
    [ "$7" = - ] || model=$model,$7
    [ "$more" = - ] && more=
    read -ra command <<< "$papers --nodes $3 --machine $5 --model $model $2 ${options[$2]} --workers $4 --json ${more//=/ }"
    echo "${command[*]}" > "$results/$1.command"
    if timeout --kill-after=10 "${LIMIT:-600}" "${command[@]}" > "$out.new" 2> "$results/$1.log"; then
        mv "$out.new" "$out"
    else
        echo "$1 did not end well: see $results/$1.log"
    fi
}

while read -r name program rest; do
    [ "$name" ] || continue
    wanted "$name" "$@" || continue
    [ -e "$results/$name.json" ] && continue
    case $program in
        kge) [ -d "$data/fb15k-237" ] || continue ;;
        wv) [ -e "$data/text.txt" ] || continue ;;
    esac
    echo "== $name"
    read -ra fields <<< "$rest"
    run "$name" "$program" "${fields[@]}" < /dev/null
done <<< "$CELLS"
