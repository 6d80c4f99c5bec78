#!/usr/bin/env bash
# What `make demo` shows: ComplEx embeddings of WordNet, trained on a cluster of four nodes on this machine; and how fast the
# same job goes with static partitioning, and with independent samples, for ten seconds each.
#
#     scripts/demo.sh PROGRAMS     the folder with the programs `locus` and `kge`
#
# Results are in build/demo/. LOCUS_DEMO_SECONDS: how long the first training may last (70).
set -u
programs=$1
results=build/demo
nodes=4
seconds=${LOCUS_DEMO_SECONDS:-70}
job=(--reciprocal --batch 32 --negatives 64 --reg 0.05 --init 0.01 --eval-every 5)

mkdir -p "$results"
train() { "$programs/locus" run -n "$nodes" --prefix never "$programs/kge" "${job[@]}" "$@"; }
give_up() { echo "make demo: $1 failed; what it printed is above"; exit 1; }

# The mean of the epochs' rates but the first, in which rows still find their places; of all when there are no others.
rate_of() {
    awk '/^epoch/ { facts = 0; for (i = 1; i < NF; i++) if ($(i + 1) == "facts/s") facts = $i
                    n++; if (n > 1 || !sum) { sum = n == 2 ? facts : sum + facts; used = n == 2 ? 1 : used + 1 } }
         END { printf "%.0f", used ? sum / used : 0 }' "$1"
}

# What the network was needed for: "accesses in training: 99.75 % without the network; ..."
local_share_of() { awk '/^accesses in training:/ { print $4 }' "$1"; }

# show TECHNIQUE SAMPLING: a line on what it did
show() {
    printf '   %-9s %-12s %10s %24s %%\n' "$1" "$2" "$(rate_of "$results/$1-$2.txt")" "$(local_share_of "$results/$1-$2.txt")"
}

# short TECHNIQUE SAMPLING: the same training for ten seconds
short() {
    train --technique "$1" --sampling "$2" --epochs 60 --seconds 10 > "$results/$1-$2.txt" || give_up "the training"
    show "$1" "$2"
}

echo "== ComplEx on WordNet, $nodes nodes on this machine: rows are relocated and replicated as their use needs it,"
echo "   negative samples are taken from the rows that are there"
train --technique adaptive --sampling non-conform --epochs 60 --seconds "$seconds" --near dog,piano,physics,run,happy \
    --chart "$results/wordnet.svg" --out "$results/wordnet.safetensors" | tee "$results/adaptive-non-conform.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || give_up "the training"

echo
echo "== The same with static partitioning, in which rows stay where they are; and with conform samples, which are drawn from all"
echo "   rows, wherever they are. Ten seconds each; on one machine a message is hardly under way, on a network it is: docs/kge.md"
printf '   %-9s %-12s %10s %26s\n' technique samples facts/s 'accesses without network'
show adaptive non-conform
short static non-conform
short adaptive conform
short static conform

echo
echo "The picture is $results/wordnet.svg, the model $results/wordnet.safetensors."
