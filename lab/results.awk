# What the runs of one section came to, for lab/results.sh: a table (Markdown) and, with -v svg=FILE, a drawing; with
# -v line=1 one line. Input: files of JSON lines, the first of which has the run's label; files of one label are repetitions.
# Figures are medians, speeds over all epochs of all repetitions, and the range; the drawing likewise.

function field(name) {
    return match($0, "\"" name "\":[-0-9.e+]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : ""
}

function text(name) {
    if (!match($0, "\"" name "\":\"[^\"]*\"")) return ""
    return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
}

# What is kept: has[what], count[what, run], value[what, run, i]
function note(what, x) {
    if (x == "") return
    has[what] = 1
    value[what, at, ++count[what, at]] = x
}

function sort(what, run,    i, j, x) {
    for (i = 2; i <= count[what, run]; i++) {
        x = value[what, run, i]
        for (j = i - 1; j > 0 && value[what, run, j] > x; j--) value[what, run, j + 1] = value[what, run, j]
        value[what, run, j + 1] = x
    }
}

function median(what, run,    n) {
    n = count[what, run]
    return n % 2 ? value[what, run, (n + 1) / 2] : (value[what, run, n / 2] + value[what, run, n / 2 + 1]) / 2
}

function least(what, run) { return value[what, run, 1] }
function most(what, run) { return value[what, run, count[what, run]] }

FNR == 1 {
    close_run()
    label = text("label")
    if (!(label in number)) {
        number[label] = ++runs
        label_of[runs] = label
    }
    at = number[label]
    epochs = 0
    next
}
/"event":"epoch"/ {
    is_mf = !match($0, "pairs_per_second")
    note("seconds", field("seconds"))
    note("rate", field("examples_per_second") / 1e6)
    loss = field("loss")
    epochs++
}
/"task":"analogies"/ { note("analogies", 100 * field("accuracy")) }
/"task":"similarity"/ { note("spearman", field("spearman")) }
/"split":"test"/ { rmse = field("rmse") }
/"event":"stats"/ {
    remote = field("pulled_remote") + field("pushed_remote")
    here = field("pulled_local") + field("pulled_replica") + field("pushed_local") + field("pushed_replica")
    note("remote", 100 * remote / (remote + here))
    note("sent", field("bytes_sent") / 1e6 / epochs)
}

# A run's result is the last of its test errors, and the loss of its last epoch unless that was cut short.
function close_run() {
    if (at) note("RMSE", rmse)
    if (at) note("loss", is_mf ? "" : loss)
    rmse = loss = ""
}

# ---- the table ----

function cell(what, run, format) {
    return count[what, run] ? sprintf(format, median(what, run)) : "-"
}

function ranged(what, run, format) {
    if (!count[what, run]) return "-"
    if (count[what, run] == 1) return sprintf(format, median(what, run))
    return sprintf(format " (" format " to " format ")", median(what, run), least(what, run), most(what, run))
}

function column(what, heading) {
    if (has[what]) printf " %s |", heading
}

function table(    run) {
    printf "| run | %s | times the first |", is_mf ? "seconds an epoch" : "M words/s"
    column("RMSE", "test RMSE")
    column("loss", "loss")
    column("analogies", "analogies, %")
    column("spearman", "Spearman")
    column("remote", "remote accesses, %")
    column("sent", "MB an epoch, sent by all")
    printf "\n|---|---|---|"
    for (what in has) if (what != "seconds" && what != "rate" && has[what]) printf "---|"
    printf "\n"
    for (run = 1; run <= runs; run++) {
        printf "| %s | %s | %.2f |", label_of[run], ranged(speed, run, speed_format), median(speed, run) / median(speed, 1)
        if (has["RMSE"]) printf " %s |", ranged("RMSE", run, "%.4f")
        if (has["loss"]) printf " %s |", cell("loss", run, "%.3f")
        if (has["analogies"]) printf " %s |", ranged("analogies", run, "%.2f")
        if (has["spearman"]) printf " %s |", ranged("spearman", run, "%.3f")
        if (has["remote"]) printf " %s |", cell("remote", run, "%.2f")
        if (has["sent"]) printf " %s |", cell("sent", run, "%.0f")
        printf "\n"
    }
}

# ---- the drawing: a bar for each run, of its speed, and beside it one of its quality ----

function words_at(x, y, size, colour, anchor, said) {
    printf "<text x=\"%.0f\" y=\"%.0f\" font-size=\"%d\" fill=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, size, colour, \
        anchor, said > svg
}

function bar(x, y, width, colour) {
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>\n", x, y, width, colour > svg
}

function panel(what, heading, x, width, format, colour,    run, top, y, scale) {
    for (run = 1; run <= runs; run++) if (count[what, run] && most(what, run) > top) top = most(what, run)
    scale = width / (top > 0 ? top : 1)
    words_at(x, 62, 13, "#333", "start", heading)
    for (run = 1; run <= runs; run++) {
        y = 74 + 24 * (run - 1)
        if (!count[what, run]) continue
        bar(x, y, median(what, run) * scale, colour)
        if (count[what, run] > 1)
            printf "<path d=\"M%.1f,%.1fH%.1f\" stroke=\"#222\" stroke-width=\"1.5\"/>\n", x + least(what, run) * scale, y + 8, \
                x + most(what, run) * scale > svg
        words_at(x + width + 6, y + 13, 12, "#333", "start", sprintf(format, median(what, run)))
    }
}

function quality() {
    return has["RMSE"] ? "RMSE" : has["analogies"] ? "analogies" : "loss"
}

function draw(    run, height, heading) {
    height = 84 + 24 * runs
    heading["RMSE"] = "test RMSE: less is better"
    heading["analogies"] = "analogies, %: more is better"
    heading["loss"] = "loss of the epoch: less is better"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 %d\" width=\"900\" height=\"%d\" " \
        "font-family=\"sans-serif\">\n<rect width=\"900\" height=\"%d\" fill=\"#fff\"/>\n", height, height, height > svg
    words_at(16, 28, 16, "#111", "start", title)
    words_at(884, 28, 12, "#666", "end", "bars: medians; lines: least to most")
    for (run = 1; run <= runs; run++) words_at(206, 74 + 24 * (run - 1) + 13, 12, "#333", "end", label_of[run])
    panel(speed, is_mf ? "seconds an epoch: less is better" : "million words/s: more is better", 216, 250, speed_format, "#4c78a8")
    panel(quality(), heading[quality()], 546, 270, quality() == "analogies" ? "%.2f" : "%.4f", "#54a24b")
    print "</svg>" > svg
}

END {
    close_run()
    speed = is_mf ? "seconds" : "rate"
    speed_format = "%.3f"
    for (run = 1; run <= runs; run++) for (what in has) sort(what, run)
    if (line) {
        printf "%s %s", sprintf(speed_format, median(speed, 1)), is_mf ? "s an epoch" : "M words/s"
        if (has["RMSE"]) printf ", RMSE %.4f", median("RMSE", 1)
        if (has["analogies"]) printf ", analogies %.2f %%", median("analogies", 1)
        if (has["spearman"]) printf ", Spearman %.3f", median("spearman", 1)
        printf "\n"
        exit
    }
    table()
    if (svg) draw()
}
