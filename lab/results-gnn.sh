#!/bin/sh
# Repeats the tables of lab/gnn.md: lab/results-gnn.sh PROGRAMS DATA OUT [SECTION...]
#
# PROGRAMS has the programs; DATA is a folder in which, at any depth, facebook_edges.csv and facebook_target.csv, and cora
# and citeseer (.edges.tsv, .nodes.svm, .split.txt) are found; a section whose files are not there is passed over. Sections:
# facebook (quality on one, two and four nodes), features (Cora, Citeseer), planted (a generated graph), techniques, beside
# (processor time beside PyTorch). TURNS are the seeds ('1 2 3'). No run may take longer than RUN_SECONDS (200). OUT/SECTION/
# gets the JSON lines of each run, OUT/SECTION.md the table: means over the seeds, speeds of the fastest epoch.
# shellcheck disable=SC2086 # options are words
set -eu

[ $# -ge 3 ] || {
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
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
    if timeout --kill-after=5 "$run_seconds" $start "$bin/locus-gnn" "$@" --seed "$turn" --json >> "$name.part" \
        2> "$name.err" < /dev/null; then
        mv "$name.part" "$name.json"
    else
        failed=$((failed + 1))
        echo "failed: $section, $label, seed $turn: $(tail -n 1 "$name.err")"
    fi
}

# The mean over runs of one label; of speeds the largest. Where each epoch was judged that of the best validation counts.
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
         /"event":"(eval|best)"/ { now[FILENAME] = field("accuracy") } # the best is said last
         /"event":"partition"/ { cut[i] += field("edges_between") }
         /"event":"stats"/ {
             sent[i] += field("bytes_sent") / 1e6
             remote[i] += field("pulled_remote") + field("pushed_remote")
             here[i] += field("pulled_local") + field("pulled_replica") + field("pushed_local") + field("pushed_replica")
         }
         { of[FILENAME] = i }
         END {
             for (f in now) right[of[f]] += now[f]
             print "| run | test accuracy | edges between nodes, % | thousand nodes/s | remote accesses, % | MB an epoch, sent by all |"
             print "|---|---|---|---|---|---|"
             for (i = 1; i <= count; i++) {
                 n = runs[i]
                 printf "| %s | %.4f | %s | %.1f | %s | %s |\n", label[i], right[i] / n,
                     cut[i] ? sprintf("%.1f", 100 * cut[i] / n) : "-", speed[i] / 1000,
                     here[i] ? sprintf("%.2f", 100 * remote[i] / (here[i] + remote[i])) : "-",
                     epochs[i] ? sprintf("%.1f", sent[i] / epochs[i]) : "-"
             }
         }' "$out/$section/"*.json
}

# find_file NAME: prints its path
find_file() { find -L "$data" -name "$1" -type f 2> /dev/null | sort | head -n 1; }
need() {
    for file; do
        [ "$(find_file "$file")" ] && continue
        echo "passed over: $section: there is no $file in '$data'"
        return 1
    done
}
need_pages() {
    need facebook_edges.csv facebook_target.csv || return 1
    pages="--data $(find_file facebook_edges.csv) --labels $(find_file facebook_target.csv)"
}

need_facebook() { need_pages; }
run_facebook() {
    run 'plain arrays' 1 $pages --eval-every 1 --baseline
    for nodes in 1 2 4; do run "$nodes node$([ $nodes -eq 1 ] || echo s)" $nodes $pages --eval-every 1; done
}
need_features() { need cora.edges.tsv cora.nodes.svm cora.split.txt citeseer.edges.tsv citeseer.nodes.svm citeseer.split.txt; }
run_features() {
    for graph in cora citeseer; do
        run $graph 1 --data "$(find_file $graph.edges.tsv)" --labels "$(find_file $graph.nodes.svm)" \
            --features "$(find_file $graph.nodes.svm)" --split "$(find_file $graph.split.txt)" --average symmetric \
            --neighbours 0 --test-neighbours 0 --epochs 60 --lr 0.02 --dense-lr 0.05 --dropout 0.5 --decay 5e-4
    done
}
need_planted() { :; }
run_planted() { run 'a million nodes' 1 --planted 1000000x16x32 --epochs 1 --train 0.6 --validate 0.3; }
need_techniques() { need_pages; }
run_techniques() {
    for technique in adaptive replicate full relocate static nups; do
        run "4 nodes, $technique" 4 $pages --eval-every 1 --technique $technique
    done
}
need_beside() { need_pages; }
run_beside() {
    [ "$turn" = "${turns%% *}" ] || return 0
    /usr/bin/python3 "$(dirname "$0")/python/tasks.py" gnn "$bin/locus-gnn" "$data" > "$out/$section/text" || failed=$((failed + 1))
}

[ $# -gt 0 ] || set -- facebook features planted techniques beside
for section; do
    case $section in
    facebook | features | planted | techniques | beside) ;;
    *) echo "there is no section $section; there are facebook, features, planted, techniques, beside" >&2 && exit 2 ;;
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
