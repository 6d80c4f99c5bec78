#!/usr/bin/env bash
# What `make demo` shows: ComplEx embeddings of WordNet, trained on a cluster of four nodes on this machine; and how fast
# training with a step for each fact goes, adaptive and with static partitioning, when the nodes are as far from each other
# as the machines of a data centre, and on one node.
#
#     scripts/demo.sh BUILD     the folder of the variant that was built: its bin/ and test/distance
#
# Results are in build/demo/. LOCUS_DEMO_SECONDS: how long the first training may last (40).
set -u
programs=$1/bin
distance=$1/test/distance
results=build/demo
nodes=4
seconds=${LOCUS_DEMO_SECONDS:-40}
delay=0.0001 # each way
short=8      # seconds of training of each
batches=(--data "$results/wordnet" --reciprocal --batch 32 --negatives 64 --lr 0.3 --sampling non-conform)
single=(--data "$results/wordnet" --batch 1 --negatives 6 --loss logistic --reg 0 --init 0.01 --sampling non-conform)

mkdir -p "$results"
give_up() { echo "make demo: $1 failed; what it printed is above"; exit 1; }

# The mean of the epochs' rates but the first, in which rows still find their places; of all when there are no others.
rate_of() {
    awk '/^epoch/ { facts = 0; for (i = 1; i < NF; i++) if ($(i + 1) == "facts/s") facts = $i
                    n++; if (n > 1 || !sum) { sum = n == 2 ? facts : sum + facts; used = n == 2 ? 1 : used + 1 } }
         END { printf "%.0f", used ? sum / used : 0 }' "$1"
}

# Have the epochs taken so long, all but a little?
has_trained() {
    awk -v limit="$short" '/^epoch/ { for (i = 1; i < NF; i++) if ($(i + 1) == "s") t += $i }
                           END { exit !(t > 0.9 * limit) }' "$1"
}

# Can nodes be put far from each other here? It takes network namespaces.
is_far=
"$distance" --role distance "2 $delay true" > "$results/far.txt" 2>&1 && is_far=1

# compare NAME: trains for a while with a technique, or on one node; it is ended where it would begin to evaluate.
compare() {
    local out=$results/$1.txt pid waited=0 words=("$programs/locus-kge" "${single[@]}" --epochs 60 --seconds "$short")
    [ "$1" = one-node ] || words+=(--technique "$1")
    : > "$out"
    if [ "$1" = one-node ]; then
        "${words[@]}" > "$out" 2>&1 &
    elif [ "$is_far" ]; then
        "$distance" --role distance "$nodes $delay exec ${words[*]}" > "$out" 2>&1 &
    else
        "$programs/locus" run -n "$nodes" --prefix never "${words[@]}" > "$out" 2>&1 &
    fi
    pid=$!
    while kill -0 "$pid" 2> /dev/null && ! has_trained "$out" && [ $waited -lt 400 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    kill "$pid" 2> /dev/null
    wait "$pid" 2> /dev/null
    [ "$(rate_of "$out")" -gt 0 ] || { cat "$out"; give_up "the training ($1)"; }
}

# bars: of all three, the longest one 50 characters
bars() {
    awk -v nodes="$nodes" -v cores="$(nproc)" -v a="$(rate_of "$results/adaptive.txt")" \
        -v s="$(rate_of "$results/static.txt")" -v o="$(rate_of "$results/one-node.txt")" '
        function bar(name, rate,    i, n, most) {
            most = a > s ? a : s
            n = int(50 * rate / (most > o ? most : o) + 0.5)
            printf "      %-17s ", name
            for (i = 0; i < (n ? n : 1); i++) printf "█"
            printf " %d facts/s\n", rate
        }
        BEGIN {
            bar(nodes " nodes, adaptive", a); bar(nodes " nodes, static", s); bar("one node", o)
            printf "      adaptive: %.1f times as fast as static, %.1f times as fast as one node\n", a / s, a / o
            if (cores < 2 * nodes)
                printf "      (%d nodes have %d threads, and this machine has %d cores, which slows them.)\n", nodes, 2 * nodes, cores
        }'
}

"$programs/locus-prepare" kge /usr/share/wordnet "$results/wordnet" || give_up "the preparation of WordNet's files"
echo "== ComplEx on WordNet, $nodes nodes on this machine: rows are relocated and replicated as their use needs it,"
echo "   negative samples are taken from the rows that are there"
"$programs/locus" run -n "$nodes" --prefix never "$programs/locus-kge" "${batches[@]}" --technique adaptive --epochs 60 \
    --seconds "$seconds" --report "$results/wordnet.html" --out "$results/wordnet.safetensors" | tee "$results/wordnet.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || give_up "the training"
echo "   the nearest entities of some, by the cosine of their vectors:"
printf '%s\n' guitar.n.01 gold.n.01 france.n.01 apple.n.01 car.n.01 |
    "$programs/locus-predict" --best 3 "$results/wordnet.safetensors"

echo
if [ "$is_far" ]; then
    echo "== Adaptive beside static partitioning, in which rows stay where they are, and beside one node. Each of the $nodes nodes has a"
    echo "   network of its own, and proxies on this machine hold up what they send by 0.1 ms each way, as a data centre does."
else
    echo "== Adaptive beside static partitioning, in which rows stay where they are, and beside one node. This system does not let us"
    echo "   make networks: messages are hardly under way, and static partitioning looks better than it is on several machines."
fi
echo
echo "   a step for each fact, $short seconds of training each"
for each in adaptive static one-node; do compare $each; done
bars
echo "   (Where a step fetches the rows of many facts together adaptive and static are closer: lab/kge.md.)"

echo
[ ! -f "$results/wordnet.html" ] || echo "Curves are in $results/wordnet.html."
echo "The model is $results/wordnet.safetensors."
