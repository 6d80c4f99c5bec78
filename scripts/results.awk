# The figures of one run's JSON lines, for scripts/results.sh.
function field(name) {
    return match($0, "\"" name "\":[-0-9.e+]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "-"
}
/"event":"epoch"/ { rate = field("examples_per_second"); if (best == "" || rate + 0 > best + 0) best = rate }
/"task":"analogies"/ { analogies = field("accuracy") }
/"task":"similarity"/ { similarity = field("spearman") }
/"split":"test"/ { rmse = field("rmse") }
END {
    printf "%11.0f examples/s (best epoch)", best
    if (rmse != "") printf "  RMSE %.4f", rmse
    if (analogies != "") printf "  analogies %.4f", analogies
    if (similarity != "") printf "  Spearman %.4f", similarity
    printf "\n"
}
