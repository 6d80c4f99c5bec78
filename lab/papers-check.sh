#!/usr/bin/env bash
# Is the model true? Trains the same on real nodes of this machine and on modelled ones that share as many cores (lab/papers),
# and compares what both counted and how long they took: medians, the ratio of the model to the real runs, and "off" where it is
# beyond 20 %.
#
#     lab/papers-check.sh BUILD DATA [NODES...]     build/gcc, a folder with a graph, 2 4
#
# Runs of few slices differ from each other, modelled ones too: each is repeated, PAPERS_CHECK_RUNS times (5), the model's
# PAPERS_CHECK_MODELLED times (as often). The model's runs differ in what a loader takes for an example, by a nanosecond.
# Other programs on this machine make the real runs slower and other ones: leave it alone meanwhile, or prefer this script's
# group of tasks to theirs.
#
# What a step takes is measured with one node, real, the same way. What a loader takes for an example among nodes, and a worker
# for an access of a replica more than for one of its own rows, is written below, from threads' processor time on an EPYC
# (Zen 5); all else is of lab/papers/machine.c, "shared".
set -u
build=$1 data=$2 runs=${PAPERS_CHECK_RUNS:-5} modelled=${PAPERS_CHECK_MODELLED:-${PAPERS_CHECK_RUNS:-5}} cores=$(nproc)
shift 2
[ $# -gt 0 ] || set -- 2 4
declare -A arguments=(
    [mf]="--zipf 20000x2000x1000000 --rank 100 --adagrad coordinate --epochs 6"
    [kge]="--data $data --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --epochs 6"
    [wv]="--data $data/text.txt --min-count 2 --epochs 2"
)
declare -A prepare=([mf]=20 [kge]=290 [wv]=100) replica=([mf]=45 [kge]=55 [wv]=37)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

compare() {
    awk -v runs="$runs and $modelled" '
        function field(line, name) {
            if (!match(line, "\"" name "\":[-+0-9.e]+")) return 0
            line = substr(line, RSTART, RLENGTH)
            sub(/.*:/, "", line)
            return line + 0
        }
        function note(name, value) {
            if (!(name in place)) { names[++count] = name; place[name] = count }
            values[name, kind, ++noted[name, kind]] = value
        }
        function median(name, kind,    i, j, swap) {
            for (i = 1; i <= noted[name, kind]; i++)
                for (j = i; j > 1 && values[name, kind, j] < values[name, kind, j - 1]; j--) {
                    swap = values[name, kind, j]
                    values[name, kind, j] = values[name, kind, j - 1]
                    values[name, kind, j - 1] = swap
                }
            return values[name, kind, int((noted[name, kind] + 1) / 2)]
        }
        function spread(name, kind, middle) {
            if (!middle) return ""
            return sprintf("%.2f to %.2f", values[name, kind, 1] / middle, values[name, kind, noted[name, kind]] / middle)
        }
        FNR == 1 { kind = FILENAME ~ /real/ ? "real" : "model" }
        /"event":"epoch"/ && field($0, "epoch") > 1 { note("seconds of an epoch but the first", field($0, "seconds")) }
        /"event":"epoch"/ { loss = field($0, "loss") }
        /"event":"stats"/ {
            remote = field($0, "pulled_remote") + field($0, "pushed_remote")
            here = field($0, "pulled_local") + field($0, "pushed_local") + field($0, "pulled_replica") + field($0, "pushed_replica")
            note("loss of the last epoch", loss)
            note("share of accesses elsewhere", remote / (remote + here))
            note("bytes sent", field($0, "bytes_sent"))
            note("messages", field($0, "messages_sent"))
            note("rounds", field($0, "rounds"))
            note("relocations", field($0, "relocated_in"))
            note("replicas created", field($0, "replicas_created"))
        }
        END {
            printf "  %-34s %12s %-16s %12s %-16s %8s\n", "medians of " runs " runs", "real", "all", "model", "all", "ratio"
            for (i = 1; i <= count; i++) {
                name = names[i]
                real = median(name, "real")
                model = median(name, "model")
                ratio = real ? model / real : 0
                printf "  %-34s %12.5g %-16s %12.5g %-16s %8.2f%s\n", name, real, spread(name, "real", real), model,
                    spread(name, "model", model), ratio, (ratio < 1 / 1.2 || ratio > 1.2) ? "  off" : ""
            }
        }' "$folder"/real.* "$folder"/model.*
}

# ns of an example, of the epochs but the first.
step_of() {
    awk 'match($0, /"seconds":[0-9.e+-]+/) && /"event":"epoch"/ && !/"epoch":1,/ {
             seconds = substr($0, RSTART + 10, RLENGTH - 10)
             rate = "\"examples_per_second\":"
             if (/"pairs_per_second"/) rate = "\"pairs_per_second\":"
             at = index($0, rate) + length(rate)
             print 1e9 / (substr($0, at) + 0)
         }' "$folder"/alone.* | sort -n | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }'
}

# Into a file; says what was wrong.
run() {
    local out=$1
    shift
    "$@" > "$out" 2> "$folder/log" || { tail -n 3 "$folder/log"; exit 1; }
}

check() {
    local program=$1 nodes=$2 i step options
    read -ra options <<< "${arguments[$program]} --workers 1 --json"
    rm -f "$folder"/*.*
    for ((i = 1; i <= runs; i++)); do
        run "$folder/alone.$i" "$build/bin/locus-$program" "${options[@]}"
        run "$folder/real.$i" "$build/bin/locus" run -n "$nodes" "$build/bin/locus-$program" "${options[@]}"
    done
    step=$(step_of)
    for ((i = 1; i <= modelled; i++)); do
        run "$folder/model.$i" "$build/lab/papers" --nodes "$nodes" --machine shared \
            --model "cores=$cores,step=$step,replica=${replica[$program]},prepare=$((${prepare[$program]} + i - 1))" "$program" "${options[@]}"
    done
    echo "$program on $nodes nodes of one worker, $cores cores, $step ns a step alone"
    compare
}

for nodes; do
    check mf "$nodes"
    [ ! -e "$data/train.txt" ] || check kge "$nodes"
    [ ! -e "$data/text.txt" ] || check wv "$nodes"
done
