#!/bin/sh
# Repeats the tables of lab/ctr.md: lab/results-ctr.sh PROGRAMS DATA OUT [SECTION...]
#
# PROGRAMS has the programs; DATA is a folder in which, at any depth, census_148d_train.libsvm and census_148d_test.libsvm are
# found, else that section is passed over. Sections: census (quality on one, two and four nodes), techniques, planted (against
# the planted model's own), speed (plain arrays beside one node, in turns), beside (processor time beside PyTorch and
# scikit-learn). TURNS are the seeds ('1 2 3'). No run may take longer than RUN_SECONDS (200). OUT/SECTION/ gets the JSON lines
# of each run, OUT/SECTION.md the table: of the test, of the epoch that was validated best, the mean over the seeds, speeds of
# the fastest epoch.
# shellcheck disable=SC2086 # options are words
set -eu

[ $# -ge 3 ] || {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
bin=$1 data=$2 out=$3
shift 3
turns=${TURNS:-1 2 3} run_seconds=${RUN_SECONDS:-200} failed=0 section='' number=0

# run LABEL NODES [OPTIONS]
run() {
    label=$1 nodes=$2
    shift 2
    number=$((number + 1))
    name=$out/$section/$(printf %02d $number).$turn
    start=
    [ "$nodes" -eq 1 ] || start="$bin/locus run -n $nodes --"
    printf '{"label":"%s"}\n' "$label" > "$name.part"
    if timeout --kill-after=5 "$run_seconds" $start "$bin/locus-ctr" "$@" --seed "$turn" --json >> "$name.part" \
        2> "$name.err" < /dev/null; then
        mv "$name.part" "$name.json"
    else
        failed=$((failed + 1))
        echo "failed: $section, $label, seed $turn: $(tail -n 1 "$name.err")"
    fi
}

# The mean over runs of one label; of speeds the largest.
table() {
    awk 'function field(name) {
             return match($0, "\"" name "\":[-0-9.e+]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : 0
         }
         FNR == 1 {
             split($0, part, "\"")
             if (!(part[4] in at)) { at[part[4]] = ++count; label[count] = part[4] }
             i = at[part[4]]
             runs[i]++
         }
         /"event":"epoch"/ { if (field("examples_per_second") + 0 > speed[i]) speed[i] = field("examples_per_second") + 0; epochs[i]++ }
         /"split":"planted"/ { own[i] += field("auc") }
         /"split":"test"/ { auc[i] += field("auc"); loss[i] += field("log_loss"); error[i] += field("calibration_error") }
         /"event":"stats"/ {
             sent[i] += field("bytes_sent") / 1e6
             remote[i] += field("pulled_remote") + field("pushed_remote")
             here[i] += field("pulled_local") + field("pulled_replica") + field("pushed_local") + field("pushed_replica")
         }
         END {
             print "| run | AUC | planted, less AUC | log loss | calibration error | thousand examples/s | remote accesses, % | MB an epoch, sent by all |"
             print "|---|---|---|---|---|---|---|---|"
             for (i = 1; i <= count; i++) {
                 n = runs[i]
                 printf "| %s | %.4f | %s | %.4f | %.4f | %.0f | %s | %s |\n", label[i], auc[i] / n,
                     own[i] ? sprintf("%.4f", (own[i] - auc[i]) / n) : "-", loss[i] / n, error[i] / n, speed[i] / 1000,
                     here[i] ? sprintf("%.2f", 100 * remote[i] / (here[i] + remote[i])) : "-",
                     epochs[i] ? sprintf("%.1f", sent[i] / epochs[i]) : "-"
             }
         }' "$out/$section/"*.json
}

find_census() {
    train=$(find -L "$data" -name census_148d_train.libsvm -type f 2> /dev/null | sort | head -n 1)
    test=$(find -L "$data" -name census_148d_test.libsvm -type f 2> /dev/null | sort | head -n 1)
    if [ -z "$train" ] || [ -z "$test" ]; then
        echo "passed over: $section: there is no census_148d_train.libsvm and census_148d_test.libsvm in '$data'"
        return 1
    fi
    census="--data $train --test $test"
}

need_census() { find_census; }
run_census() {
    run 'plain arrays' 1 $census --baseline
    for nodes in 1 2 4; do run "$nodes node$([ $nodes -eq 1 ] || echo s)" $nodes $census; done
}
need_techniques() { find_census; }
run_techniques() {
    for technique in adaptive static relocate replicate full nups; do
        run "4 nodes, $technique" 4 $census --technique $technique
    done
}
need_planted() { :; }
run_planted() { run '26 fields, 2000 categories, 4 M examples' 1 --zipf 26x2000x4000000 --epochs 1 --lr 0.05 --reg 0; }
need_speed() { :; }
run_speed() {
    zipf='--zipf 26x100000x200000 --epochs 3 --hold-back 0.02 --validate 0'
    for _ in 1 2 3; do
        run 'plain arrays' 1 $zipf --baseline
        run '1 node' 1 $zipf
    done
    run '2 nodes' 2 $zipf
    run '4 nodes' 4 $zipf
}
need_beside() { :; }
run_beside() {
    [ "$turn" = "${turns%% *}" ] || return 0
    /usr/bin/python3 "$(dirname "$0")/python/tasks.py" ctr "$bin/locus-ctr" "$data" > "$out/$section/text" || failed=$((failed + 1))
}

[ $# -gt 0 ] || set -- census techniques planted speed beside
for section; do
    case $section in
    census | techniques | planted | speed | beside) ;;
    *) echo "there is no section $section; there are census, techniques, planted, speed, beside" >&2 && exit 2 ;;
    esac
    "need_$section" || continue
    mkdir -p "$out/$section"
    rm -f "$out/$section/"*
    for turn in $turns; do
        number=0
        "run_$section"
    done
    if [ "$section" = beside ]; then cp "$out/$section/text" "$out/$section.md"; else table > "$out/$section.md"; fi
    cat "$out/$section.md"
done
echo "$failed runs failed; tables: $out"
[ $failed -eq 0 ]
