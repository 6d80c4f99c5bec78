#!/bin/sh
# Repeats the tables of lab/kge.md: lab/results-kge.sh PROGRAMS DATA OUT [SECTION...]
#
# PROGRAMS has the programs; DATA is a folder with fb15k-237 and wn18rr in it, at any depth: what is missing is passed over.
# SECTION is the beginning of a section's name; without any, all are run, which takes about an hour on two processors.
#
# Sections of speed compare runs of SECONDS (7) each, which take turns, TURNS (3) of them: a run's figure is the median of
# its epochs after the first, in which rows find their places, or of all that it had time for; a line shows the median of
# the turns, the least and the most. OUT/SECTION/ has the JSON lines of each run, OUT/SECTION.md the table. They train on the
# whole training split, and evaluate on little of the others. Sections with "far" in the name delay what passes between
# nodes, 200 microseconds each way, by proxies: that needs `make cluster` before, and the right to make network namespaces.
# shellcheck disable=SC2086 # options are words
set -eu

[ $# -ge 3 ] || {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
bin=$1 data=$2 out=$3
shift 3
turns=${TURNS:-3} seconds=${SECONDS_OF_RUN:-7}
distance=$bin/../test/cluster/distance
failed=0

# ---- one run ----

# note LABEL NAME STATUS: what the run NAME has to say
note() {
    if [ "$3" -eq 0 ] && grep -q '"epoch"' "$2.json"; then
        awk -v label="$1" '
            function field(name) {
                return match($0, "\"" name "\":[-0-9.e+]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : 0
            }
            /"event":"epoch"/ { n++; rate[n] = field("examples_per_second"); gflops[n] = field("gflops"); of[n] = field("seconds") }
            /"split":"test"/ { mrr = field("mrr") }
            END {
                # What the clock cut short counts only when there is nothing else.
                last = n > 2 && of[n] < 0.5 * of[n - 1] ? n - 1 : n
                first = last > 1 ? 2 : 1
                for (i = first; i <= last; i++) x[++k] = rate[i]
                for (i = 2; i <= k; i++) for (j = i; j > 1 && x[j] < x[j - 1]; j--) { t = x[j]; x[j] = x[j - 1]; x[j - 1] = t }
                median = k % 2 ? x[(k + 1) / 2] : (x[k / 2] + x[k / 2 + 1]) / 2
                printf "%s\t%.1f\t%.2f\t%.4f\t%d\n", label, median / 1000, gflops[1] / rate[1] * median, mrr, n
            }' "$2.json" >> "$out/$section/runs"
        tail -n 1 "$out/$section/runs"
    else
        failed=$((failed + 1))
        echo "$1 failed: $(tail -n 1 "$2.err")"
    fi
}

# run LABEL NODES [OPTIONS]: with $start before the program
run() {
    label=$1 nodes=$2 status=0
    shift 2
    number=$((number + 1))
    name=$out/$section/$number.$turn
    start=
    [ "$nodes" -eq 1 ] || start="$bin/locus run -n $nodes --"
    timeout --kill-after=5 $((limit + 60)) $start "$bin/locus-kge" "$@" --seconds "$limit" --json > "$name.json" \
        2> "$name.err" < /dev/null || status=$?
    note "$label" "$name" $status
}

# The same on nodes that are far from each other.
run_far() {
    label=$1 nodes=$2 status=0
    shift 2
    number=$((number + 1))
    name=$out/$section/$number.$turn
    timeout --kill-after=5 $((limit + 60)) "$distance" --role distance \
        "$nodes 0.0002 exec $bin/locus-kge $* --seconds $limit --json" > "$name.json" 2> "$name.err" < /dev/null || status=$?
    note "$label" "$name" $status
}

# As many processes as there are nodes elsewhere, on plain arrays, that know nothing of each other.
run_independent() {
    label=$1 count=$2 processes=
    shift 2
    number=$((number + 1))
    name=$out/$section/$number.$turn
    for i in $(seq "$count"); do
        "$bin/locus-kge" "$@" --baseline --seconds "$limit" --json > "$name.$i.json" 2> "$name.err" < /dev/null &
        processes="$processes $!"
    done
    status=0
    for p in $processes; do wait "$p" || status=1; done
    kept=$section
    section=$kept/apart.$turn
    mkdir -p "$out/$section"
    : > "$out/$section/runs"
    for i in $(seq "$count"); do note one "$name.$i" $status > /dev/null; done
    awk -F '\t' -v label="$label" '{ rate += $2; gflops += $3; n = $5 } END { printf "%s\t%.1f\t%.2f\t%.4f\t%d\n", label, rate, gflops, 0, n }' \
        "$out/$section/runs" | tee -a "$out/$kept/runs"
    section=$kept
}

# ---- what several sections have in common ----

each= # the options of the section

workers() {
    run 'plain arrays, 1 worker' 1 $each --baseline
    run '1 node, 1 worker' 1 $each
}
sizes() {
    run 'plain arrays, 2 workers' 1 $each --workers 2 --baseline
    run_independent 'plain arrays, four processes apart' 4 $each
    run '1 node, 2 workers' 1 $each --workers 2
    run '2 nodes, 1 worker' 2 $each
    run '4 nodes, 1 worker' 4 $each
    run '4 nodes, 1 worker, non-conform' 4 $each --sampling non-conform
}
techniques() {
    for technique in adaptive static relocate replicate full; do
        run "$1 nodes, $technique" "$1" $each --technique "$technique"
    done
}
levels() {
    for level in conform bounded long-term non-conform; do
        run "4 nodes, $level" 4 $each --sampling "$level"
    done
}
far() {
    for technique in adaptive static; do
        for level in conform non-conform; do
            run_far "4 far nodes, $technique, $level" 4 $each --technique "$technique" --sampling "$level"
        done
    done
}

# ---- the sections ----

single='--dim 100 --batch 1 --negatives 6 --loss logistic --reg 0'
own='--dim 100 --batch 64 --own-negatives --negatives 6'
batches='--dim 100 --batch 512 --negatives 500'
good='--dim 200 --reciprocal --reg 0.05 --init 0.1 --negatives 1000 --batch 512'

sections='single-worker own-worker batches-worker good-worker single-sizes batches-sizes good-sizes single-techniques
single-2-techniques batches-techniques batches-2-techniques single-levels batches-levels single-far batches-far'
quality_sections='quality-wn18rr quality-fb15k-237'

find_data() {
    found=$(find -L "$data" -type d -name "$1" 2> /dev/null | sort | head -n 1)
    [ -n "$found" ] || echo "passed over: $section: there is no $1 in '$data'"
    [ -n "$found" ]
}

# The training split, and a little of the others: an evaluation takes longer than a run.
make_short() {
    short=$out/fb15k-237-short
    mkdir -p "$short"
    cp "$found/train.txt" "$short/"
    for split in valid test; do head -n 200 "$found/$split.txt" > "$short/$split.txt"; done
}

show() {
    sort -s -t "$(printf '\t')" -k 1,1 -k 2,2n "$out/$section/runs" | awk -F '\t' '
        function close_label() {
            if (!n) return
            m = int((n + 1) / 2)
            printf "%s\t| %s | %s (%s to %s) | %s |\n", label, label, rate[m], rate[1], rate[n], gflops[m]
        }
        $1 != label { close_label(); label = $1; n = 0 }
        { rate[++n] = $2; gflops[n] = $3 }
        END { close_label() }' > "$out/$section/lines"
    {
        echo "| \`$each\` | thousand facts/s | GFLOP/s |"
        echo '|---|---|---|'
        cut -f 1 "$out/$section/runs" | awk '!seen[$0]++' | while IFS= read -r label; do
            awk -F '\t' -v label="$label" '$1 == label { print $2 }' "$out/$section/lines"
        done
    } > "$out/$section.md"
    cat "$out/$section.md"
}

run_speed() {
    find_data fb15k-237 || return 0
    make_short
    case $section in
        single*) each=$single ;;
        own*) each=$own ;;
        batches*) each=$batches ;;
        good*) each=$good ;;
    esac
    each="--data $short $each --epochs 1000"
    limit=$seconds
    for turn in $(seq "$turns"); do
        number=0
        case $section in
            *-worker) workers ;;
            *-sizes) sizes ;;
            *-2-techniques) techniques 2 ;;
            *-techniques) techniques 4 ;;
            *-levels) levels ;;
            *-far) far ;;
        esac
    done
    each=${each#--data * }
    each=${each% --epochs *}
    show
}

# One run of each: quality does not depend on what else the machine does.
run_quality() {
    find_data "${section#quality-}" || return 0
    limit=${QUALITY_SECONDS:-3600} number=0 turn=1
    case $section in
        *wn18rr) options='--dim 128 --reciprocal --reg 0.05 --init 0.1 --negatives 1000 --batch 512' epochs=${EPOCHS:-40} ;;
        *) options=$good epochs=${EPOCHS:-30} ;;
    esac
    options="--data $found $options --epochs $epochs --eval-every 1000"
    run 'plain arrays' 1 $options --baseline
    run '1 node' 1 $options
    for level in conform bounded long-term non-conform; do run "4 nodes, $level" 4 $options --sampling "$level"; done
    awk -F '\t' 'BEGIN { print "| | test MRR | epochs |\n|---|---|---|" } { printf "| %s | %s | %s |\n", $1, $4, $5 }' \
        "$out/$section/runs" | tee "$out/$section.md"
}

begins_with() { # NAME [BEGINNING...]: does it begin with one of these? Without any: yes
    wanted=$1
    shift
    [ $# -gt 0 ] || return 0
    for beginning; do
        case $wanted in "$beginning"*) return 0 ;; esac
    done
    return 1
}

for section in $sections $quality_sections; do
    begins_with "$section" "$@" || continue
    mkdir -p "$out/$section"
    : > "$out/$section/runs"
    echo "== $section"
    case $section in
        quality*) run_quality ;;
        *) run_speed ;;
    esac
done
[ $failed -eq 0 ] || {
    echo "$failed runs failed"
    exit 1
}
