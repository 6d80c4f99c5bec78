#!/usr/bin/env bash
# What `make demo` shows: ComplEx embeddings of WordNet, trained on a cluster of four nodes on this machine; and how the same
# job goes with static partitioning.
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

echo "== ComplEx on WordNet, $nodes nodes on this machine: rows are relocated and replicated as their use needs it,"
echo "   negative samples are taken from the rows that are there"
train --technique adaptive --sampling non-conform --epochs 60 --seconds "$seconds" --near dog,piano,physics,run,happy \
    --chart "$results/wordnet.svg" --out "$results/wordnet.safetensors" | tee "$results/adaptive.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || give_up "the training"

echo
echo "== the same with static partitioning, for ten seconds: rows stay where they are, samples are independent"
train --technique static --sampling conform --epochs 60 --seconds 10 | tee "$results/static.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || give_up "the training"

echo
awk -v a="$(rate_of "$results/adaptive.txt")" -v s="$(rate_of "$results/static.txt")" 'BEGIN {
    printf "adaptive management: %d facts/s; static partitioning: %d facts/s", a, s
    if (s > 0) printf ": %.1f times as fast", a / s
    print "" }'
echo "The picture is $results/wordnet.svg, the model $results/wordnet.safetensors."
