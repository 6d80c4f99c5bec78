# Of one cell's result (JSON lines): name, seconds an epoch, the best quality, and what the workers' time went into; with
# -v curve=1 the quality over time instead, one line an evaluation. Lines of an epoch come before those of its evaluation.
function field(name,    m) {
    if (match($0, "\"" name "\":[-+0-9.e]+")) {
        m = substr($0, RSTART, RLENGTH)
        sub(/.*:/, "", m)
        return m + 0
    }
    return 0
}
function has(text) { return index($0, "\"" text "\"") > 0 }
# Higher is better: MRR and accuracy; of errors and losses 1/x; 2 AUC - 1, which is 0 for who knows nothing.
function note(q) {
    if (curve) printf "%.6f %.6f\n", seconds, q
    if (q > best) best = q
    # between two evaluations quality rises evenly
    if (goal > 0 && !reached && q >= goal)
        reached = evaluations ? before + (seconds - before) * (goal - last) / (q - last) : seconds
    evaluations++
    before = seconds
    last = q
}
/"event":"epoch"/ && field("epoch") > 0 { epochs++; seconds += field("seconds"); loss = field("loss")
    if (has("pairs_per_second")) note(1 / loss) }
has("eval") && has("valid") && has("mrr") && epochs > evaluated { evaluated = epochs; note(field("mrr")) }
has("eval") && has("rmse") && epochs > evaluated { evaluated = epochs; note(1 / field("rmse")) }
has("eval") && has("test") && has("auc") && epochs > evaluated { evaluated = epochs; note(2 * field("auc") - 1) }
has("eval") && has("accuracy") && epochs > evaluated { evaluated = epochs; note(field("accuracy")) }
has("stats") {
    remote = field("pulled_remote") + field("pushed_remote")
    all = remote + field("pulled_local") + field("pushed_local") + field("pulled_replica") + field("pushed_replica")
    bytes = field("bytes_sent"); relocated = field("relocated_in"); replicas = field("replicas_created")
    stale = field("replica_staleness_mean_s"); late = field("intents_late")
}
has("machine") {
    nodes = field("nodes"); computed = field("computed_s"); starved = field("starved_s")
    pull = field("pull_s") + field("sample_s"); update = field("update_s"); settle = field("settle_s")
    shard = field("busiest_shard_s"); all_s = field("seconds"); wire = field("wire_bytes")
    examples = field("examples"); waits = field("pulls_waited")
}
END {
    if (curve || !epochs) exit
    # nodes, s/epoch, best, last, seconds to the goal, GB/node/epoch, staleness ms, relocations and replicas an epoch, computed,
    # starved, pull, update and settle seconds an epoch over all workers, remote share; seconds of the busiest node's shards,
    # and of the run; GB on the wire/node/epoch, late accesses, pulls of a training worker that had to wait, examples
    printf "%d %.6f %.5f %.5f %.6f %.5f %.4f %.0f %.0f %.4f %.4f %.4f %.4f %.4f %.7f %.5f %.5f %.5f %.0f %.0f %.0f\n", nodes, seconds / epochs, best, last,
        reached, bytes / nodes / epochs * 1e-9, stale * 1e3, relocated / epochs, replicas / epochs, computed / epochs,
        starved / epochs, pull / epochs, update / epochs, settle / epochs, all ? remote / all : 0, shard, all_s,
        wire / nodes / epochs * 1e-9, late, waits, examples
}
