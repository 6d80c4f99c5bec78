#!/usr/bin/env bash
# Is the model true? Trains the same on real nodes of this machine and on modelled ones (bench/papers), and compares what both
# counted: the ratio of the model to the real run, and "off" where it is beyond 20 %.
#
#     scripts/papers-check.sh BUILD DATA [NODES...]     build/gcc, a folder with a graph, 2 4
#
# The model gives each thread a core of its own, 20 us of network and no other programs; a real run here shares two cores. So
# the model is run at the real run's pace: a step takes what it took there, waiting and other programs included. The seconds
# are no test then; all else is.
set -u
build=$1 data=$2
shift 2
[ $# -gt 0 ] || set -- 2 4
declare -A arguments=(
    [mf]="--zipf 20000x2000x200000 --rank 100 --adagrad coordinate --epochs 4"
    [kge]="--data $data --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --epochs 3"
)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

compare() {
    awk '
        function field(line, name,    m) {
            if (!match(line, "\"" name "\":[-+0-9.e]+")) return 0
            m = substr(line, RSTART, RLENGTH)
            sub(/.*:/, "", m)
            return m + 0
        }
        function row(name, real, model) {
            ratio = real ? model / real : 0
            printf "  %-34s %14.6g %14.6g %8.2f%s\n", name, real, model, ratio, (ratio < 0.8 || ratio > 1.25) ? "  off" : ""
        }
        function share(line,    remote, here) {
            remote = field(line, "pulled_remote") + field(line, "pushed_remote")
            here = field(line, "pulled_local") + field(line, "pushed_local")
            here += field(line, "pulled_replica") + field(line, "pushed_replica")
            return remote / (remote + here)
        }
        FNR == 1 { file++ }
        /"event":"epoch"/ { seconds[file] += field($0, "seconds"); loss[file] = field($0, "loss") }
        /"event":"stats"/ { stats[file] = $0 }
        END {
            printf "  %-34s %14s %14s %8s\n", "", "real", "model", "ratio"
            row("bytes sent", field(stats[1], "bytes_sent"), field(stats[2], "bytes_sent"))
            row("share of accesses elsewhere", share(stats[1]), share(stats[2]))
            row("relocations", field(stats[1], "relocated_in"), field(stats[2], "relocated_in"))
            row("replicas created", field(stats[1], "replicas_created"), field(stats[2], "replicas_created"))
            row("rounds", field(stats[1], "rounds"), field(stats[2], "rounds"))
            row("messages", field(stats[1], "messages_sent"), field(stats[2], "messages_sent"))
            row("loss of the last epoch", loss[1], loss[2])
            row("seconds of training", seconds[1], seconds[2])
        }' "$1" "$2"
}

check() {
    local program=$1 nodes=$2 options pace
    read -ra options <<< "${arguments[$program]}"
    "$build/bin/locus" run -n "$nodes" "$build/bin/$program" "${options[@]}" --json > "$folder/real" 2> "$folder/log" ||
        { tail -n 3 "$folder/log"; return 1; }
    pace=$(awk 'match($0, /"seconds":[0-9.e+-]+/) && /"event":"epoch"/ {
                    seconds = substr($0, RSTART + 10, RLENGTH - 10)
                    match($0, /"examples_per_second":[0-9.e+-]+/)
                    all += seconds; examples += seconds * substr($0, RSTART + 22, RLENGTH - 22)
                }
                END { printf "%.0f", all / examples * 1e9 }' "$folder/real")
    pace=$((pace * nodes))
    "$build/bench/papers" --nodes "$nodes" --model "step=$pace,prepare=20,shards=1,own_core=0" "$program" "${options[@]}" --json > "$folder/model" 2> "$folder/log" ||
        { tail -n 3 "$folder/log"; return 1; }
    echo "$program on $nodes nodes of one worker, $pace ns a step"
    compare "$folder/real" "$folder/model"
}

for nodes; do
    check mf "$nodes" || exit 1
    [ ! -e "$data/train.txt" ] || check kge "$nodes" || exit 1
done
