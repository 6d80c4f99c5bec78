#!/usr/bin/env bash
# Techniques beside each other on modelled machines: NuPS' Figures 6, 8 and 11 and Section 5.7, AdaPM's Section 5.3. Runs each cell that has
# no result yet, then prints the tables that lab/techniques.md has.
#
#     lab/papers-techniques.sh PAPERS DATA RESULTS [PREFIX]
#
# PAPERS, DATA: as of papers.sh. PREFIX: only cells whose name begins so, "mf" or "mf-hot".
# MATRIX and EPOCHS in the environment: another size of mf.
set -u
papers=$1 data=$2 results=$3 prefix=${4:-}
mkdir -p "$results"
here=$(dirname "$0")

declare -A options=(
    [mf]="--zipf ${MATRIX:-20000x2000x1000000} --rank 100 --adagrad coordinate --eval-every 1 --epochs ${EPOCHS:-3}"
    [kge]="--data $data/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs 1"
    [wv]="--data $data/text.txt --subsample 0.001 --epochs 1"
)
# Of AdaPM's own programs: papers.sh.
declare -A step=([mf]="step=1530,prepare=60" [kge]="step=49600,prepare=2000" [wv]="step=3700,prepare=100")

# run NAME PROGRAM NODES OPTION...: the result appears when it is whole
run() {
    local name=$1 program=$2 nodes=$3 out=$results/$1.json
    shift 3
    case $name in "$prefix"*) ;; *) return ;; esac
    [ -e "$out" ] && return
    case $program in
        kge) [ -d "$data/fb15k-237" ] || return ;;
        wv) [ -e "$data/text.txt" ] || return ;;
    esac
    local command
    read -ra command <<< "$papers ${switches:-} --nodes $nodes --machine nups --model ${step[$program]} $program ${options[$program]} --workers 8 --json"
    command+=("$@")
    echo "== $name" >&2
    if timeout --kill-after=10 "${LIMIT:-1800}" "${command[@]}" > "$out.new" 2> "$results/$name.log" < /dev/null; then
        mv "$out.new" "$out"
    else
        echo "$name did not end well: see $results/$name.log" >&2
    fi
}

# Figures 6 and 8: one node, a classic server, SSP, ESSP, Lapse, NuPS untuned, adaptive.
techniques() {
    local p=$1
    run "$p-adaptive" "$p" 8 --technique adaptive
    run "$p-relocate" "$p" 8 --technique relocate
    run "$p-nups" "$p" 8 --technique nups --hot auto
    run "$p-essp" "$p" 8 --technique essp --staleness 1
    run "$p-ssp" "$p" 8 --technique ssp --staleness 1
    run "$p-static" "$p" 8 --technique static
    run "$p-one" "$p" 1 --technique adaptive
}

# Figure 11: the threshold, as times of the 100 that NuPS has, from the lowest up to the first at which no key is hot: all above are
# the same to the byte.
times=(1/64 1/16 1/4 1 4 16 64 256)
thresholds=(1.5625 6.25 25 100 400 1600 6400 25600)
kept() { grep -o '"replicas_created":[0-9]*' "$results/$1.json" | cut -d: -f2; }
sweep() {
    local p=$1 i name
    for i in "${!times[@]}"; do
        name=$p-hot-${times[i]/\//_}
        run "$name" "$p" 8 --technique nups --hot "${thresholds[i]}x"
        [ -e "$results/$name.json" ] && [ "$(kept "$name")" = 0 ] && return
    done
}

# Section 4: what need not be as random; kge and wv draw negative samples.
samplings=(long-term non-conform)
samplings_of() {
    local p=$1 level
    [ "$p" = mf ] && return
    for level in "${samplings[@]}"; do run "$p-nups-$level" "$p" 8 --technique nups --hot auto --sampling "$level"; done
}

# Figure 11 and Table 3, with NuPS' axis: times as many keys as its rule of 100 times the mean chooses; kge and wv with
# samples of what is at the node, as NuPS' tuned settings and AdaPM have them (NuPS, Section 5.1; AdaPM, Appendix C).
factors=(1/16 1/4 1 4 16 64 256)
declare -A chosen=([kge]=18 [wv]=22 [mf]=9)
local_of() {
    local p=$1 factor keys sampling=(--sampling non-conform)
    [ "$p" = mf ] && sampling=()
    if [ "$p" != mf ]; then
        run "$p-local-relocate" "$p" 8 --technique relocate "${sampling[@]}"
        run "$p-local-adaptive" "$p" 8 --technique adaptive "${sampling[@]}"
    fi
    for factor in "${factors[@]}"; do
        keys=$((${chosen[$p]} * factor))
        [[ $factor = 1/* ]] && keys=$(((${chosen[$p]} + ${factor#1/} / 2) / ${factor#1/}))
        [ $keys -gt 0 ] || continue
        run "$p-local-keys-${factor/\//_}" "$p" 8 --technique nups --hot $keys "${sampling[@]}"
    done
}

# wv with conform samples is at the edge of what its rate allows: a quarter of it, and AdaGrad.
edge_of() {
    local kind more
    [ "$1" = wv ] || return
    for kind in slow adagrad; do
        more=(--lr 0.00625)
        [ $kind = slow ] || more=(--optimizer adagrad)
        run wv-$kind-one wv 1 --technique adaptive "${more[@]}"
        run wv-$kind-relocate wv 8 --technique relocate "${more[@]}"
        run wv-$kind-hot-1 wv 8 --technique nups --hot auto "${more[@]}"
        run wv-$kind-hot-1_16 wv 8 --technique nups --hot 6.25x "${more[@]}"
    done
    run wv-adagrad-adaptive wv 8 --technique adaptive --optimizer adagrad
}

# At equal time: two epochs of NuPS' best with such samples and of adaptive, three seeds.
equal_time() {
    local p=$1 best seed
    case $p in
        wv) best=66 ;;
        kge) best=1152 ;;
        *) return ;;
    esac
    for seed in 1 2 3; do
        run "$p-two-adaptive-$seed" "$p" 8 --technique adaptive --sampling non-conform --epochs 2 --seed "$seed"
        run "$p-two-nups-$seed" "$p" 8 --technique nups --hot $best --sampling non-conform --epochs 2 --seed "$seed"
    done
}

# Figure 8: the number of nodes.
nodes_of() {
    local p=$1 nodes technique sampling=(--sampling non-conform)
    [ "$p" = mf ] && sampling=()
    for nodes in 2 4 16; do
        for technique in relocate "nups --hot auto" "essp --staleness 1"; do
            [[ $technique = essp* ]] && [ "$p" != mf ] && continue
            # shellcheck disable=SC2086 # a technique and its option are two words
            run "$p-nodes-${technique%% *}-$nodes" "$p" "$nodes" "${sampling[@]}" --technique $technique
        done
    done
}

# Section 5.7: how often hot keys are synchronized, in a thousandth of a second what NuPS has in a second, for epochs are
# as much shorter. (The bound holds for intents, too.)
rates=(200 1000 5000 25000 125000)
rates_of() {
    local p=$1 rate
    for rate in "${rates[@]}"; do run "$p-rate-$rate" "$p" 8 --technique nups --hot auto --max-rounds "$rate"; done
    switches=--unsynchronized run "$p-rate-never" "$p" 8 --technique nups --hot auto
}

# AdaPM, Section 5.3: what adaptive reaches in the time that NuPS takes for an epoch.
longer() {
    case $1 in
        kge) run kge-adaptive-6 kge 8 --technique adaptive --epochs 6 ;;
        wv) run wv-adaptive-3 wv 8 --technique adaptive --epochs 3 ;;
    esac
}

for p in mf wv kge; do
    techniques "$p"
    sweep "$p"
    samplings_of "$p"
    rates_of "$p"
    longer "$p"
    edge_of "$p"
    local_of "$p"
    nodes_of "$p"
    equal_time "$p"
done

# ---- tables ----------------------------------------------------------------------------------------------------------

cell() { awk -f "$here/papers.awk" "$results/$1.json" 2> /dev/null; }
# row NAME LABEL: seconds an epoch, quality, GB a node and epoch, replicas made and relocations an epoch, accesses elsewhere
row() {
    [ -e "$results/$1.json" ] || return
    cell "$1" | awk -v label="$2" '{ printf "| %s | %.4f | %.3f | %.3f | %.0f | %.0f | %.2f %% |\n", label, $2, $3, $6, $9, $8, 100 * $15 }'
}

table() {
    local p=$1 name i
    [ -e "$results/$p-adaptive.json" ] || return
    echo "| $p | seconds an epoch | quality, best | GB sent a node and epoch | replicas made | relocations | accesses elsewhere |"
    echo "|---|---|---|---|---|---|---|"
    row "$p-one" "one node"
    for name in static ssp essp relocate nups adaptive; do row "$p-$name" "$name"; done
    for i in "${!times[@]}"; do row "$p-hot-${times[i]/\//_}" "nups, threshold x ${times[i]}"; done
    for i in "${samplings[@]}"; do row "$p-nups-$i" "nups, sampling $i"; done
    row "$p-rate-never" "nups, hot keys never synchronized"
    for i in "${rates[@]}"; do row "$p-rate-$i" "nups, at most $i synchronizations a second"; done
    echo
}

# Figure 11 and Table 3: a node that has the row itself counts no replica.
shares() {
    local p=$1 factor name
    for factor in "${factors[@]}"; do
        name=$p-local-keys-${factor/\//_}
        [ -e "$results/$name.json" ] || continue
        awk -v label="$p x $factor" -v line="$(cell "$name" | awk '{ printf "%.4f | %.3f | %.3f | %.2f %%", $2, $3, $6, 100 * $15 }')" '
            function field(name) {
                return match($0, "\"" name "\":[0-9]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : 0
            }
            /"event":"stats"/ {
                copied = field("pulled_replica") + field("pushed_replica")
                all = copied + field("pulled_local") + field("pushed_local") + field("pulled_remote") + field("pushed_remote")
                hot = field("replicas_created") / 7
                printf "| %s | %d | %.3f %% | %.1f %% | %s |\n", label, hot, 100 * hot / field("owned_now"), 100 * copied * 8 / 7 / all, line
            }' "$results/$name.json"
    done
}

# by_nodes PROGRAM: raw speedup over one node
by_nodes() {
    local p=$1 technique nodes name one
    one=$(cell "$p-one" | awk '{ print $2 }')
    for technique in relocate nups essp; do
        for nodes in 2 4 8 16; do
            name=$p-nodes-$technique-$nodes
            [ $nodes = 8 ] && case $p-$technique in
                mf-*) name=mf-$technique ;;
                *-essp) name=$p-essp ;;
                *-relocate) name=$p-local-relocate ;;
                *) name=$p-local-keys-1 ;;
            esac
            [ -e "$results/$name.json" ] || continue
            cell "$name" | awk -v label="$p, $technique, $nodes nodes" -v one="$one" '{
                printf "| %s | %.4f | %.1f | %.3f | %.2f %% |\n", label, $2, one / $2, $3, 100 * $15 }'
        done
    done
}

for p in mf wv kge; do table "$p"; done
echo "| wv, conform samples | seconds an epoch | 1 / loss | GB sent a node and epoch | replicas made | relocations | accesses elsewhere |"
echo "|---|---|---|---|---|---|---|"
for kind in slow adagrad; do
    for name in one relocate hot-1 hot-1_16 adaptive; do row "wv-$kind-$name" "$kind: $name"; done
done
echo
echo "| times as many hot keys | hot keys | of all | accesses to them | seconds an epoch | quality, best | GB sent a node and epoch | accesses elsewhere |"
echo "|---|---|---|---|---|---|---|---|"
for p in kge wv mf; do shares "$p"; done
echo
echo "| local samples | seconds an epoch | quality, best | GB sent a node and epoch | replicas made | relocations | accesses elsewhere |"
echo "|---|---|---|---|---|---|---|"
for p in kge wv; do
    for name in relocate adaptive; do row "$p-local-$name" "$p, $name"; done
    for name in adaptive nups; do
        for i in 1 2 3; do row "$p-two-$name-$i" "$p, $name, two epochs, seed $i"; done
    done
done
echo
echo "| | seconds an epoch | raw speedup | quality | accesses elsewhere |"
echo "|---|---|---|---|---|"
for p in mf kge wv; do by_nodes "$p"; done
