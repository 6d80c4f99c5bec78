#!/usr/bin/env bash
# The papers' results on modelled machines: runs each cell of lab/papers that has no result yet, then writes the
# tables of lab/papers.md, ctr.md and gnn.md, and drawings, from all results.
#
#     lab/papers.sh PAPERS DATA RESULTS [CELL...]
#
# DATA holds fb15k-237/ (train.txt, valid.txt, test.txt), text.txt and novels.txt; what is not there is passed over. A
# document of which there is no result stays as it is. A cell is a line of
# CELLS; names may be given to run only those.
set -u
papers=$1 data=$2 results=$3
shift 3
mkdir -p "$results"

# One fact a step and 6 + 6 negatives, as AdaPM's own program has it on this graph. Negatives of kge and wv are drawn
# from what is at the node (AdaPM, Appendix C: "local sampling"; "independent sampling" with static partitioning).
declare -A options=(
    [kge]="--data $data/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs 3 --sampling non-conform"
    [mf]="--zipf 20000x2000x1000000 --rank 100 --adagrad coordinate --eval-every 1 --epochs 6"
    [kge-large]="--planted 100000x50x1000000 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0.01 --init 0.1 --eval-every 1 --epochs 4 --sampling non-conform"
    [kge-ahead]="--data $data/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs 1 --sampling non-conform"
    [kge-ten]="--data $data/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs 10 --sampling non-conform"
    [wv-ahead]="--data $data/text.txt --subsample 0.001 --batch 8 --epochs 1 --sampling non-conform"
    [mf-ahead]="--zipf 20000x2000x1000000 --rank 100 --adagrad coordinate --batch 1 --eval-every 1 --epochs 1"
    [mf-large]="--zipf 100000x10000x10000000 --rank 100 --eval-every 1 --epochs 5"
    [ctr-large]="--zipf 26x100000x4000000 --hold-back 0.02 --validate 0 --epochs 1 --lr 0.02 --reg 0"
    [gnn-large]="--planted 100000x16x32 --train 0.9 --validate 0.05 --eval-every 1 --epochs 2"
    [wv]="--data $data/text.txt --subsample 0.001 --epochs 2 --sampling non-conform"
    [wv-large]="--data $data/novels.txt --subsample 0.001 --epochs 2 --sampling non-conform"
)

# A step's time. `their`: what AdaPM's programs take on the machine where ours were measured, by the seconds of an epoch; of
# ctr and gnn, which were PyTorch's there, what PyTorch takes for our model (lab/python/tasks.py). `our`: our programs'
# --baseline there.
declare -A steps=(
    [their_ctr]="step=28000,prepare=1000" [our_ctr]="step=1000,prepare=1000"
    [their_gnn]="step=75000,prepare=6000" [our_gnn]="step=10000,prepare=6000"
    [their_kge]="step=49600,prepare=2000" [our_kge]="step=840,prepare=150"
    [their_mf]="step=1530,prepare=60" [our_mf]="step=88,prepare=20"
    [their_wv]="step=3700,prepare=100" [our_wv]="step=220,prepare=40"
)

# name, program, nodes, workers a node, machine, steps, further model, further options (+: of papers, not of the program)
CELLS='
kge-adaptive-1      kge  1 8 nups their - -
kge-adaptive-8      kge  8 8 nups their - -
kge-full-8          kge  8 8 nups their - --technique=full
kge-replicate-8     kge  8 8 nups their - --technique=replicate
kge-relocate-8      kge  8 8 nups their - --technique=relocate
kge-static-8        kge  8 8 nups their - --technique=static,--sampling=conform
kge-large-adaptive-1 kge-large  1 8 nups their - -
kge-large-adaptive-8 kge-large  8 8 nups their - -
mf-large-adaptive-1  mf-large   1 8 nups their - -
mf-large-adaptive-8  mf-large   8 8 nups their - -
mf-large-adaptive-16 mf-large  16 8 nups their - -
mf-large-replicate-8 mf-large   8 8 nups their - --technique=replicate
mf-adaptive-1       mf   1 8 nups their - -
mf-adaptive-2       mf   2 8 nups their - -
mf-adaptive-4       mf   4 8 nups their - -
mf-adaptive-8       mf   8 8 nups their - -
mf-adaptive-16      mf  16 8 nups their - -
mf-full-8           mf   8 8 nups their - --technique=full
mf-replicate-8      mf   8 8 nups their - --technique=replicate
mf-relocate-8       mf   8 8 nups their - --technique=relocate
mf-static-8         mf   8 8 nups their - --technique=static
wv-large-adaptive-1 wv-large 1 8 nups their - -
wv-large-adaptive-8 wv-large 8 8 nups their - -
wv-large-adaptive-16 wv-large 16 8 nups their - --lr=0.0125
wv-large-conform-8  wv-large 8 8 nups their - --sampling=conform
wv-adaptive-1       wv   1 8 nups their - -
wv-adaptive-8       wv   8 8 nups their - -
kge-adaptive-2      kge  2 8 nups their - -
kge-adaptive-4      kge  4 8 nups their - -
kge-adaptive-16     kge 16 8 nups their - -
wv-adaptive-2       wv   2 8 nups their - -
wv-adaptive-4       wv   4 8 nups their - -
wv-adaptive-16      wv  16 8 nups their - --lr=0.0125
wv-full-8           wv   8 8 nups their - --technique=full
wv-replicate-8      wv   8 8 nups their - --technique=replicate
wv-relocate-8       wv   8 8 nups their - --technique=relocate
wv-static-8         wv   8 8 nups their - --technique=static,--sampling=conform
ctr-large-adaptive-1   ctr-large  1 8 nups their - -
ctr-large-adaptive-8   ctr-large  8 8 nups their - -
ctr-large-full-8       ctr-large  8 8 nups their - --technique=full
ctr-large-replicate-8  ctr-large  8 8 nups their - --technique=replicate
ctr-large-adaptive-16  ctr-large 16 8 nups their - -
ctr-large-adaptive-2   ctr-large  2 8 nups their - -
ctr-large-adaptive-4   ctr-large  4 8 nups their - -
gnn-large-adaptive-1   gnn-large  1 8 nups their - -
gnn-large-adaptive-8   gnn-large  8 8 nups their - -
gnn-large-full-8       gnn-large  8 8 nups their - --technique=full
gnn-large-replicate-8  gnn-large  8 8 nups their - --technique=replicate
gnn-large-adaptive-16  gnn-large 16 8 nups their - -
gnn-large-adaptive-2   gnn-large  2 8 nups their - -
gnn-large-adaptive-4   gnn-large  4 8 nups their - -
kge-shared-8        kge  8 8 nups their own_core=0 -
mf-shared-8         mf   8 8 nups their own_core=0 -
wv-shared-8         wv   8 8 nups their own_core=0 -
kge-cores-1         kge  1 2 nups our - -
kge-cores-4         kge  4 1 nups our - -
mf-cores-1          mf   1 2 nups our - -
mf-cores-4          mf   4 1 nups our - -
wv-cores-1          wv   1 2 nups our - -
wv-cores-4          wv   4 1 nups our - -
kge-our-1           kge  1 8 nups our - --eval-every=100
kge-our-8           kge  8 8 nups our - --eval-every=100
mf-our-1            mf   1 8 nups our - --eval-every=100
mf-our-8            mf   8 8 nups our - --eval-every=100
wv-our-1            wv   1 8 nups our - -
wv-our-8            wv   8 8 nups our - -
kge-immediate-8     kge  8 8 nups their - +--immediate
mf-immediate-8      mf   8 8 nups their - +--immediate
wv-immediate-8      wv   8 8 nups their - +--immediate
mf-lapse-relocate-1 mf   1 8 lapse their - --technique=relocate
mf-lapse-relocate-2 mf   2 8 lapse their - --technique=relocate
mf-lapse-relocate-4 mf   4 8 lapse their - --technique=relocate
mf-lapse-relocate-8 mf   8 8 lapse their - --technique=relocate
mf-lapse-static-2   mf   2 8 lapse their - --technique=static
mf-lapse-static-4   mf   4 8 lapse their - --technique=static
mf-lapse-static-8   mf   8 8 lapse their - --technique=static
mf-lapse-adaptive-8 mf   8 8 lapse their - -
mf-lapse-blocks-1   mf   1 8 lapse their - --technique=relocate,--visit=blocks
mf-lapse-blocks-2   mf   2 8 lapse their - --technique=relocate,--visit=blocks
mf-lapse-blocks-4   mf   4 8 lapse their - --technique=relocate,--visit=blocks
mf-lapse-blocks-8   mf   8 8 lapse their - --technique=relocate,--visit=blocks
mf-narrow-8         mf   8 8 lapse their - --eval-every=100
kge-narrow-8        kge  8 8 lapse their - --eval-every=100
wv-narrow-8         wv   8 8 lapse their - -
mf-bound-8          mf   8 8 lapse our - --eval-every=100
kge-bound-8         kge  8 8 lapse our - --eval-every=100
wv-bound-8          wv   8 8 lapse our - -
kge-lapse-adaptive-8 kge 8 8 lapse their - -
wv-lapse-adaptive-8  wv  8 8 lapse their - -
kge-lapse-relocate-1 kge   1 8 lapse their - --technique=relocate
kge-lapse-relocate-2 kge   2 8 lapse their - --technique=relocate
kge-lapse-relocate-4 kge   4 8 lapse their - --technique=relocate
kge-lapse-relocate-8 kge   8 8 lapse their - --technique=relocate
kge-lapse-static-8   kge   8 8 lapse their - --technique=static,--sampling=conform
wv-lapse-relocate-1  wv    1 8 lapse their - --technique=relocate
wv-lapse-relocate-2  wv    2 8 lapse their - --technique=relocate
wv-lapse-relocate-4  wv    4 8 lapse their - --technique=relocate
wv-lapse-relocate-8  wv    8 8 lapse their - --technique=relocate
wv-lapse-static-8    wv    8 8 lapse their - --technique=static,--sampling=conform
kge-conform-8       kge  8 8 nups their - --sampling=conform
kge-bounded-8       kge  8 8 nups their - --sampling=bounded
kge-long-term-8     kge  8 8 nups their - --sampling=long-term
wv-conform-8        wv   8 8 nups their - --sampling=conform
wv-bounded-8        wv   8 8 nups their - --sampling=bounded
wv-long-term-8      wv   8 8 nups their - --sampling=long-term
'

# What the draw makes of it: kge with other seeds, ten epochs.
SEEDS='1 2 3'
for seed in $SEEDS; do
    for nodes in 1 8; do CELLS+="kge-ten-$nodes-seed-$seed kge-ten $nodes 8 nups their - --seed=$seed
"; done
done

# AdaPM, Section 5.8: signals so many clocks ahead, with our timing of action and without. A clock is a fact, a cell, or
# eight words in the middle.
OFFSETS='1 4 16 64 256 1000 4000'
for program in kge mf wv; do
    for offset in $OFFSETS; do
        CELLS+="$program-ahead-$offset $program-ahead 8 8 nups their - +--ahead=$offset
$program-ahead-$offset-immediate $program-ahead 8 8 nups their - +--ahead=$offset,--immediate
"
    done
done

wanted() {
    local name=$1 one
    shift
    [ $# -eq 0 ] && return 0
    for one; do [ "$one" = "$name" ] && return 0; done
    return 1
}

# --a=b,--c=d as arguments
given() { local all=${1//=/ }; echo "${all//,--/ --}"; }

# run NAME PROGRAM NODES WORKERS MACHINE STEPS MODEL OPTIONS: the result appears when it is whole
run() {
    local out=$results/$1.json program=${2%%-*} more=$8 before=
    local model=${steps[$6_$program]}
    [ "$7" = - ] || model=$model,$7
    [ "$more" = - ] && more=
    [[ $more = +* ]] && { before=$(given "${more#+}"); more=; }
    read -ra command <<< "$papers --nodes $3 --machine $5 --model $model $before $program ${options[$2]} --workers $4 --json $(given "$more")"
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
        kge | kge-ten | kge-ahead) [ -d "$data/fb15k-237" ] || continue ;;
        wv-large) [ -e "$data/novels.txt" ] || continue ;;
        wv | wv-ahead) [ -e "$data/text.txt" ] || continue ;;
    esac
    echo "== $name"
    read -ra fields <<< "$rest"
    run "$name" "$program" "${fields[@]}" < /dev/null
done <<< "$CELLS"

# ---- lab/papers.md ------------------------------------------------------------------------------------------------

here=$(dirname "$0")
# cell NAME [GOAL]: `seconds to the goal` are of that quality
cell() { awk -v goal="${2:-0}" -f "$here/papers.awk" "$results/$1.json" 2> /dev/null; }
have() { [ -e "$results/$1.json" ]; }
# command NAME: as a user types it, without this machine's paths
command_of() { sed -e "s|$papers|build/gcc/lab/papers|" -e "s|$data|DATA|g" "$results/$1.command"; }

# The part between the two marks of lab/papers.md is written anew: tables of what there is.
# speedups PROGRAM TITLE
speedups() {
    local program=$1 one goal nodes name
    goal=$(cell "$program-adaptive-1" | awk '{ print 0.9 * $3 }')
    one=$(cell "$program-adaptive-1" "$goal" | awk '{ print $2, $3, $5 }')
    [ "$one" ] || return
    echo "### $2"
    echo
    echo "| technique, nodes | seconds an epoch | raw speedup | quality, best | its part of one node's | effective speedup | GB sent a node and epoch | replicas an epoch | relocations | accesses elsewhere, evaluations included |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for name in adaptive-1 adaptive-2 adaptive-4 adaptive-8 adaptive-16 full-8 replicate-8 relocate-8 static-8 immediate-8 \
        conform-8 bounded-8 long-term-8; do
        have "$program-$name" || continue
        nodes=${name##*-}
        cell "$program-$name" "$goal" | awk -v name="${name%-*}, $nodes" -v one="$one" '{
            split(one, o, " ")
            effective = $5 > 0 ? sprintf("%.1f", o[3] / $5) : "-"
            printf "| %s | %.4f | %.1f | %.3f | %.0f %% | %s | %.3f | %.0f | %.0f | %.2f %% |\n", name, $2, o[1] / $2,
                $3, 100 * $3 / o[2], effective, $6, $9, $8, 100 * $15 }'
    done
    echo
    have "$program-adaptive-8" || return
    echo "Command of the cell \`adaptive, 8\`:"
    echo
    echo "    $(command_of "$program-adaptive-8")"
    echo
}

# What a core of its own brings: the pace of shared cores beside it.
paces() {
    local program name one
    echo "| 8 nodes | seconds an epoch | raw speedup | quality, of one node's | GB sent a node and epoch | busy part of the shards |"
    echo "|---|---|---|---|---|---|"
    for program in kge mf wv; do
        one=$(cell "$program-adaptive-1" | awk '{ print $2, $3 }')
        for name in shared-8 adaptive-8; do
            have "$program-$name" || continue
            cell "$program-$name" | awk -v name="$program, ${name%-8}" -v one="$one" '{
                split(one, o, " "); sub(/shared/, "pace of shared cores", name); sub(/adaptive/, "with cores of their own", name)
                printf "| %s | %.4f | %.1f | %.0f %% | %.3f | %.0f %% |\n", name, $2, o[1] / $2, 100 * $3 / o[2], $6,
                    100 * $16 / $17 / 4 }'
        done
    done
}

# Four nodes of one worker beside one node of two, a core for each thread.
cores() {
    local program one
    echo "| | one node of two workers: seconds an epoch | four nodes of one worker | of twice the speed | quality, of one node's |"
    echo "|---|---|---|---|---|"
    for program in kge mf wv; do
        have "$program-cores-1" || continue
        have "$program-cores-4" || continue
        one=$(cell "$program-cores-1" | awk '{ print $2, $3 }')
        cell "$program-cores-4" | awk -v program="$program" -v one="$one" '{
            split(one, o, " ")
            printf "| %s | %.4f | %.4f | %.0f %% | %.0f %% |\n", program, o[1], $2, 100 * o[1] / $2 / 2, 100 * $3 / o[2] }'
    done
}

# Lapse, Section 4: with relocation and without, on its machines; conflicts by nodes (Table 5).
lapse() {
    local program technique nodes one name
    echo "| | seconds an epoch | raw speedup | of one node's quality | accesses elsewhere, evaluations included | rows moved a second | workers wait for rows |"
    echo "|---|---|---|---|---|---|---|"
    for program in mf kge wv; do
        one=$(cell "$program-lapse-relocate-1" | awk '{ print $2, $3 }')
        for technique in relocate blocks static adaptive; do
            for nodes in 1 2 4 8; do
                name=$program-lapse-$technique-$nodes
                have "$name" || continue
                cell "$name" | awk -v name="$program, $technique, $nodes" -v one="$one" '{
                    split(one, o, " ")
                    printf "| %s | %.4f | %.1f | %.0f %% | %.1f %% | %.0f | %.0f %% |\n", name, $2, o[1] / $2, 100 * $3 / o[2],
                        100 * $15, $8 / $2, 100 * $12 / ($1 * 8 * $2) }'
            done
        done
    done
}

# AdaPM, Section 5.8, Figures 8 and 14: what the offset of the signal changes. offsets PROGRAM TITLE
offsets() {
    local program=$1 offset name
    have "$program-ahead-1" || return
    echo "### $2"
    echo
    echo "| clocks ahead | seconds of the epoch: our timing | immediate action | quality after it: our timing | immediate action | GB sent a node: our timing | immediate action | staleness of a read, us: our timing | immediate action | replicas: our timing | immediate action |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|"
    for offset in $OFFSETS; do
        name=$program-ahead-$offset
        have "$name" || have "$name-immediate" || continue
        { cell "$name" | sed 's/^/0 /'; cell "$name-immediate" | sed 's/^/1 /'; } | awk -v offset="$offset" '
            function pair(format, i) {
                return " " (i in of0 ? sprintf(format, of0[i]) : "-") " | " (i in of1 ? sprintf(format, of1[i]) : "-") " |"
            }
            { for (i = 2; i <= NF; i++) if ($1 == 0) of0[i - 1] = $i; else of1[i - 1] = $i }
            END { if (7 in of0) of0[7] *= 1e3
                if (7 in of1) of1[7] *= 1e3
                print "| " offset " |" pair("%.4f", 2) pair("%.3f", 3) pair("%.3f", 6) pair("%.0f", 7) pair("%.0f", 9) }'
    done
    echo
    echo "Command of 64 clocks, immediate:"
    echo
    echo "    $(command_of "$program-ahead-64-immediate")"
    echo
}

# bars PROGRAM...
bars() {
    local program name
    echo "| | computes | waits for batches | waits for rows | waits for updates | end of the epoch | the rest | busiest node's shards | its card | replicas' owners heard of, ms ago |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for program; do
        for name in adaptive-8 full-8 replicate-8 relocate-8 static-8; do
            have "$program-$name" || continue
            cell "$program-$name" | awk -v name="$program, ${name%-*}" '{
                all = $2 * $1 * 8
                rest = all - $10 - $11 - $12 - $13 - $14
                printf "| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.0f %% | %s |\n", name,
                    100 * $10 / all, 100 * $11 / all, 100 * $12 / all, 100 * $13 / all, 100 * $14 / all, 100 * rest / all,
                    100 * $16 / $17 / 4, 100 * $18 / 12.5 / $2, $7 ? sprintf("%.2f", $7) : "-" }'
        done
    done
}

# Where computing is so fast, or the network so slow, that it cannot carry the replicas.
bounds() {
    local kind program bandwidth one
    echo "| 8 nodes | computing alone | what is sent / bandwidth | seconds an epoch | times the longer of the two | raw speedup | quality, of one node's | busiest node's shards |"
    echo "|---|---|---|---|---|---|---|---|"
    for kind in our bound narrow; do
        bandwidth=12.5
        [ $kind = our ] || bandwidth=1.25
        for program in kge mf wv; do
            have "$program-$kind-8" || continue
            one=$(cell "$program-$([ $kind = narrow ] && echo adaptive || echo our)-1" | awk '{ print $2, $3 }')
            cell "$program-$kind-8" | awk -v name="$program, $kind" -v one="$one" -v bandwidth=$bandwidth '{
                split(one, o, " "); sub(/our/, "our steps, 100 Gbit/s", name); sub(/bound/, "our steps, 10 Gbit/s", name); sub(/narrow/, "their steps, 10 Gbit/s", name)
                alone = $10 / 64; sent = $18 / bandwidth; longer = sent > alone ? sent : alone
                shards = bandwidth > 2 ? 4 : 2
                printf "| %s | %.4f | %.4f | %.4f | %.2f | %.1f | %.0f %% | %.0f %% |\n", name, alone, sent, $2, $2 / longer,
                    o[1] / $2, 100 * $3 / o[2], 100 * $16 / $17 / shards }'
        done
    done
}

# reach NAME EPOCHS: the best quality of the first epochs, and the seconds to the goal
reach() { curve "$1" | head -n "$2" | awk -v goal="${3:-0}" '
    $2 > best { best = $2 }
    goal && !reached && $2 >= goal { reached = before + ($1 - before) * (NR > 1 ? (goal - last) / ($2 - last) : 1) }
    { before = $1; last = $2 }
    END { print best, reached }'; }

# Effective speedup of kge by the seed, of the first three epochs and of ten.
seeds() {
    local seed epochs one best
    have kge-ten-8-seed-1 || return
    echo "| seed | epochs | MRR, one node | eight nodes | its part of one node's | seconds to 90 %, one node | eight nodes | effective speedup |"
    echo "|---|---|---|---|---|---|---|---|"
    for epochs in 3 10; do
        for seed in $SEEDS; do
            have "kge-ten-1-seed-$seed" || continue
            have "kge-ten-8-seed-$seed" || continue
            best=$(reach "kge-ten-1-seed-$seed" $epochs | awk '{ print $1 }')
            one=$(reach "kge-ten-1-seed-$seed" $epochs "$(awk -v b="$best" 'BEGIN { print 0.9 * b }')")
            reach "kge-ten-8-seed-$seed" $epochs "$(awk -v b="$best" 'BEGIN { print 0.9 * b }')" |
                awk -v seed="$seed" -v epochs=$epochs -v one="$one" '{
                    split(one, o, " ")
                    printf "| %s | %d | %.3f | %.3f | %.0f %% | %.3f | %s | %s |\n", seed, epochs, o[1], $1, 100 * $1 / o[1], o[2],
                        $2 ? sprintf("%.3f", $2) : "-", $2 ? sprintf("%.1f", o[2] / $2) : "-" }'
        done
    done
}

tables_of_papers() {
    speedups kge "Knowledge graph embeddings: FB15k-237, quality is the MRR"
    speedups kge-large "Knowledge graph embeddings: a planted graph of 100,000 entities and 1,000,000 facts"
    speedups mf "Matrix factorization: 20,000 x 2,000, 1,000,000 cells of Zipf 1.1, quality is 1 / RMSE"
    speedups mf-large "Matrix factorization: 100,000 x 10,000, 10,000,000 cells of Zipf 1.1, a rate for each factor"
    speedups wv "Word vectors: the first 440,000 tokens of WikiText-2, quality is 1 / loss of an epoch"
    speedups wv-large "Word vectors: 2,000,000 tokens of novels"
    echo "### Knowledge graph embeddings, ten epochs, three seeds"
    echo
    seeds
    echo
    echo "### What a core of its own brings"
    echo
    paces
    echo
    echo "### Four nodes with a core for each thread, our own steps"
    echo
    cores
    echo
    echo "### Lapse's machines, their steps"
    echo
    lapse
    echo
    echo "### Where the network is the bound"
    echo
    bounds
    echo
    echo "### What the workers' time goes into, on 8 nodes"
    echo
    bars kge mf wv
}

tables_of_offsets() {
    offsets kge "Knowledge graph embeddings: FB15k-237, a clock is a fact, quality is the MRR"
    offsets mf "Matrix factorization: 20,000 x 2,000, 1,000,000 cells, a clock is a cell, quality is 1 / RMSE"
    offsets wv "Word vectors: 440,000 tokens of WikiText-2, a clock is eight words, quality is 1 / loss of the epoch"
}

tables_of_ctr() {
    speedups ctr-large "4,000,000 planted examples, quality is 2 AUC - 1"
    bars ctr-large
}

tables_of_gnn() {
    speedups gnn-large "100,000 planted nodes, quality is the accuracy"
    bars gnn-large
}

curve() {
    awk -v curve=1 -f "$here/papers.awk" "$results/$1.json"
}

# Dark enough on white, and different without colour, too.
COLOURS="set linetype 1 lc rgb '#202020' lw 1.6 pt 1
set linetype 2 lc rgb '#1a7a3c' lw 1.6 pt 2
set linetype 3 lc rgb '#2a6fb0' lw 1.6 pt 4
set linetype 4 lc rgb '#b8860b' lw 1.6 pt 6
set linetype 5 lc rgb '#b03030' lw 1.6 pt 8
set linetype 6 lc rgb '#7a3fa0' lw 1.6 pt 10"

# draw PROGRAM QUALITY: quality over time, a line a technique
draw() {
    local program=$1 name folder plots=
    command -v gnuplot > /dev/null || return
    folder=$(mktemp -d) || return
    for name in adaptive-1 adaptive-8 full-8 replicate-8 relocate-8 static-8; do
        have "$program-$name" || continue
        curve "$program-$name" > "$folder/$name"
        plots+="${plots:+, }'$folder/$name' using 1:2 with linespoints title '${name%-*}, ${name##*-}'"
    done
    [ -z "$plots" ] || gnuplot <<< "set terminal svg size 640,360 font 'sans,11' noenhanced
        set output 'lab/papers_$program.svg'
        $COLOURS
        set logscale x; set autoscale xfix; set offsets graph 0.04, graph 0.04, 0, 0
        set xtics (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
        set xlabel 'seconds of training (virtual), each mark the end of an epoch'; set ylabel '$2'
        set key outside right; set grid; set yrange [0:*]
        plot $plots"
    rm -rf "$folder"
}

# The same two figures of all programs by the offset: lab/papers_ahead.svg
draw_offsets() {
    local program offset kind folder script='' column programs=()
    for program in kge mf wv; do
        have "$program-ahead-1" && programs+=("$program")
    done
    [ ${#programs[@]} -gt 0 ] || return
    command -v gnuplot > /dev/null || return
    folder=$(mktemp -d) || return
    for program in "${programs[@]}"; do
        for offset in $OFFSETS; do
            for kind in '' -immediate; do
                have "$program-ahead-$offset$kind" || continue
                echo "$offset $(cell "$program-ahead-$offset$kind" | awk '{ print $2, $3 }')" >> "$folder/$program$kind"
            done
        done
        for column in 2 3; do
            script+="set key $([ $column = 3 ] && echo bottom || echo top) right
                set title '$program: $([ $column = 2 ] && echo 'seconds of the epoch' || echo 'quality after it')'
                $([ $column = 2 ] && echo 'set logscale y' || echo 'unset logscale y; set yrange [0:*]')
                plot '$folder/$program' using 1:$column with linespoints title 'our timing', \
                    '$folder/$program-immediate' using 1:$column with linespoints title 'immediate'
                set yrange [*:*]
            "
        done
    done
    gnuplot <<< "set terminal svg size 760,$((260 * ${#programs[@]})) font 'sans,11' noenhanced
        set output 'lab/papers_ahead.svg'
        $COLOURS
        set multiplot layout ${#programs[@]},2
        set logscale x; set xlabel 'clocks that intent is signaled ahead'; set grid; set xrange [0.8:5000]
        $script
        unset multiplot"
    rm -rf "$folder"
}

# What the workers' time goes into, a bar for each program and technique: lab/papers_time.svg
draw_bars() {
    local program name folder plots='' part i=2
    have kge-adaptive-8 || return
    command -v gnuplot > /dev/null || return
    folder=$(mktemp -d) || return
    for program in kge mf wv; do
        for name in adaptive-8 full-8 replicate-8 relocate-8 static-8; do
            have "$program-$name" || continue
            cell "$program-$name" | awk -v name="$program ${name%-*}" '{
                all = $2 * $1 * 8
                printf "\"%s\" %f %f %f %f %f %f\n", name, $10 / all, $11 / all, $12 / all, $13 / all, $14 / all,
                    1 - ($10 + $11 + $12 + $13 + $14) / all }'
        done
        echo '"" 0 0 0 0 0 0'
    done > "$folder/bars"
    for part in computes 'waits for batches' 'waits for rows' 'waits for updates' 'end of the epoch' 'the rest'; do
        plots+="${plots:+, }'$folder/bars' using (100 * \$$i):xtic(1) title '$part'"
        i=$((i + 1))
    done
    gnuplot <<< "set terminal svg size 760,400 font 'sans,11' noenhanced
        set output 'lab/papers_time.svg'
        set linetype 1 lc rgb '#1a7a3c'; set linetype 2 lc rgb '#b8860b'; set linetype 3 lc rgb '#b03030'
        set linetype 4 lc rgb '#7a3fa0'; set linetype 5 lc rgb '#2a6fb0'; set linetype 6 lc rgb '#b0b0b0'
        set style data histograms; set style histogram rowstacked; set style fill solid; set boxwidth 0.8
        set xtics rotate by -45 nomirror; set ylabel 'percent of the time of all workers'; set yrange [0:100]; set grid ytics
        set key outside right reverse Left invert
        plot $plots"
    rm -rf "$folder"
}

draw_bars
draw_offsets
draw kge MRR
draw mf '1 / RMSE'
draw wv '1 / loss'
# insert DOCUMENT MARK FUNCTION RESULTS...: what the function says comes between the two marks, if there is one of these
# results
insert() {
    local document=$1 mark=$2 tables=$3 name
    shift 3
    [ -e "lab/$document.md" ] || return
    for name; do
        compgen -G "$results/$name*.json" > /dev/null || continue
        "$tables" > "$results/tables"
        awk -v tables="$results/tables" -v mark="$mark" '
            $0 == "<!-- " mark " -->" { print; while ((getline line < tables) > 0) print line; skips = 1; next }
            $0 == "<!-- end of " mark " -->" { skips = 0 }
            !skips' "lab/$document.md" > "$results/$document.md" && cp "$results/$document.md" "lab/$document.md"
        return
    done
}

insert papers tables tables_of_papers {kge,kge-large,mf,mf-large,wv,wv-large}-adaptive
insert papers offsets tables_of_offsets {kge,mf}-ahead
insert ctr tables tables_of_ctr ctr-large
insert gnn tables tables_of_gnn gnn-large
