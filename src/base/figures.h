/*
 * figures.h - what a node counts: a row a figure. From these tables are made the structs in which
 * shards, links and workers count, their sums and struct locus_stats (worker/node.h), the metrics,
 * and the lines of a report.
 *
 * A row is F(to, field, report, shown, metric, label, help):
 *
 *   to      STATS: the field of that name in struct locus_stats is its sum. ONLY: none is
 *   report  its name in a report; those of rows with the same name are added. NULL: it is not there
 *   shown   when metrics show it
 *   metric  its name there, with its unit; a counter's ends with _total. Rows of the same name
 *           stand together and differ by `label`; the first one's help is that of all
 *
 * Who adds a counter adds a row, and counts where it happens. Durations are counted in histograms.
 *
 * Callers   a histogram: one thread adds, any thread reads
 * Memory    the caller's
 * Waiting   never
 * Life      of a histogram: zeros, histogram_add, histogram_sum
 */
#ifndef LOCUS_BASE_FIGURES_H
#define LOCUS_BASE_FIGURES_H

#include "locus.h"

/* What cannot change with a technique, or on a cluster of one, is left out. */
enum figure_shown {
    FIGURE_NEVER,
    FIGURE_ALWAYS,
    FIGURE_OTHERS,  /* in a cluster of several nodes */
    FIGURE_MOVES,   /* where rows move, or have replicas */
    FIGURE_FOLLOWS, /* where main copies move */
    FIGURE_INTENTS, /* where shards heed intents */
    FIGURE_SAVES,   /* where the loss of a node is survived */
    FIGURE_CLOCKS,  /* once somebody has asked for a bound in clocks */
};

/* A shard's. They are read in this order: the end of something before its beginning, so that no
 * more seem to have ended than begun. */
#define SHARD_FIGURES(F) \
    F(ONLY, served_pulls, NULL, FIGURE_OTHERS, "locus_served_keys_total", "call=\"pull\"", \
      "Keys of other nodes' requests that were served here; a set counts as a push.") \
    F(ONLY, served_pushes, NULL, FIGURE_OTHERS, "locus_served_keys_total", "call=\"push\"", NULL) \
    F(STATS, relocated_out, NULL, FIGURE_FOLLOWS, "locus_relocated_rows_total", \
      "direction=\"out\"", "Rows whose main copy came here, or left.") \
    F(STATS, relocated_in, "relocated", FIGURE_FOLLOWS, "locus_relocated_rows_total", \
      "direction=\"in\"", NULL) \
    F(STATS, forwards, NULL, FIGURE_FOLLOWS, "locus_forwarded_requests_total", NULL, \
      "Requests of other nodes that this one passed on to where the row is.") \
    F(STATS, replicas_dropped, NULL, FIGURE_MOVES, "locus_replicas_dropped_total", NULL, \
      "Replicas that this node gave up.") \
    F(STATS, replicas_created, "copied", FIGURE_MOVES, "locus_replicas_created_total", NULL, \
      "Replicas that came here.") \
    F(ONLY, keeps_ended, NULL, FIGURE_NEVER, NULL, NULL, NULL) \
    F(ONLY, keeps_begun, NULL, FIGURE_NEVER, NULL, NULL, NULL) \
    F(STATS, rounds, NULL, FIGURE_INTENTS, "locus_rounds_total", NULL, \
      "Synchronizations of shards with their peers.") \
    F(STATS, intents_late, "late", FIGURE_INTENTS, "locus_late_keys_total", NULL, \
      "Keys accessed at another node although an intent for them was active already.") \
    /* after losses (../protocol/repair.h) */ \
    F(ONLY, asked_again, NULL, FIGURE_SAVES, "locus_repeated_requests_total", NULL, \
      "Requests and syncs that went down with a lost node, and were sent again.") \
    F(ONLY, rows_from_replicas, NULL, FIGURE_SAVES, "locus_lost_rows_total", "from=\"replica\"", \
      "Rows of nodes that were lost, whose home is here now, by what they go on with.") \
    F(ONLY, rows_from_saves, NULL, FIGURE_SAVES, "locus_lost_rows_total", "from=\"save\"", NULL) \
    F(ONLY, rows_lost, NULL, FIGURE_SAVES, "locus_lost_rows_total", "from=\"zeros\"", NULL) \
    F(ONLY, rows_handed_over, NULL, FIGURE_SAVES, "locus_handed_over_rows_total", NULL, \
      "Rows of nodes that have left, whose home is here now: as they were.") \
    /* for them (../protocol/saves.h) */ \
    F(ONLY, sweeps, NULL, FIGURE_SAVES, "locus_save_sweeps_total", NULL, \
      "How often a shard has saved at other nodes what had changed.") \
    F(ONLY, saves, NULL, FIGURE_SAVES, "locus_saved_rows_total", NULL, \
      "Rows that were saved at other nodes.") \
    F(ONLY, saved_bytes, NULL, FIGURE_SAVES, "locus_saved_bytes_total", NULL, \
      "Bytes of these, which are sent bytes, too.") \
    F(ONLY, rows_kept, NULL, FIGURE_NEVER, NULL, NULL, NULL) \
    /* over all replicas: time since the last frame of the owner; half of its square, in units of  \
     * 1 << SHARD_STALE_SHIFT us² */ \
    F(ONLY, stale_us, "held", FIGURE_NEVER, NULL, NULL, NULL) \
    F(ONLY, stale_us_squared, NULL, FIGURE_NEVER, NULL, NULL, NULL)

/* A link's: metrics show them by peer. */
#define LINK_FIGURES(F) \
    F(STATS, bytes_sent, "sent", FIGURE_NEVER, "locus_sent_bytes_total", NULL, \
      "Bytes sent to the peer.") \
    F(STATS, bytes_received, NULL, FIGURE_NEVER, "locus_received_bytes_total", NULL, \
      "Bytes received from the peer.") \
    F(STATS, messages_sent, NULL, FIGURE_NEVER, "locus_sent_frames_total", NULL, \
      "Frames sent to the peer, heartbeats included.") \
    F(STATS, messages_received, NULL, FIGURE_NEVER, "locus_received_frames_total", NULL, \
      "Frames received from the peer, heartbeats included.")

/* A worker's, that its own thread counts. First those by place: node.h. */
#define WORKER_FIGURES(F) \
    F(STATS, pulled_local, "local", FIGURE_ALWAYS, "locus_pulled_keys_total", "place=\"local\"", \
      "Keys pulled: main copy here, replica here, or at another node.") \
    F(STATS, pulled_replica, "replica", FIGURE_ALWAYS, "locus_pulled_keys_total", \
      "place=\"replica\"", NULL) \
    F(STATS, pulled_remote, "remote", FIGURE_ALWAYS, "locus_pulled_keys_total", \
      "place=\"remote\"", NULL) \
    F(STATS, pushed_local, "local", FIGURE_ALWAYS, "locus_pushed_keys_total", "place=\"local\"", \
      "Keys pushed or set: main copy here, replica here, or at another node.") \
    F(STATS, pushed_replica, "replica", FIGURE_ALWAYS, "locus_pushed_keys_total", \
      "place=\"replica\"", NULL) \
    F(STATS, pushed_remote, "remote", FIGURE_ALWAYS, "locus_pushed_keys_total", \
      "place=\"remote\"", NULL) \
    F(ONLY, checkpoint_rows, NULL, FIGURE_ALWAYS, "locus_checkpoint_rows_total", NULL, \
      "Rows that were written to checkpoints here, or set from them: they count as no access.") \
    F(STATS, bounds_waited, NULL, FIGURE_CLOCKS, "locus_bound_waits_total", NULL, \
      "Calls of locus_bound that had to wait.") \
    F(ONLY, bounds_waited_ns, NULL, FIGURE_NEVER, NULL, NULL, NULL)

/* What is derived from others, or asked for where it is. */
#define NODE_FIGURES(F) \
    F(STATS, owned_now, "owned", FIGURE_ALWAYS, "locus_owned_rows", NULL, \
      "Rows whose main copy is here.") \
    F(STATS, intents_signaled, "signaled", FIGURE_ALWAYS, "locus_intended_keys_total", NULL, \
      "Keys for which intent was signaled.") \
    F(STATS, replicas_now, "replicas", FIGURE_MOVES, "locus_replicas", NULL, \
      "Replicas that are here.") \
    F(STATS, replica_staleness_mean_s, NULL, FIGURE_MOVES, "locus_replica_staleness_seconds", \
      NULL, "Age of replicas since the owner's last frame, mean since the node was opened.") \
    F(STATS, kept_now, NULL, FIGURE_INTENTS, "locus_kept_keys", NULL, \
      "Keys that this node intends for ever.") \
    F(STATS, bounds_waited_s, NULL, FIGURE_CLOCKS, "locus_bound_waited_seconds_total", NULL, \
      "How long calls of locus_bound waited.") \
    F(STATS, calls_waited, "waits", FIGURE_NEVER, NULL, NULL, NULL) \
    F(STATS, calls_waited_s, "waits_s", FIGURE_NEVER, NULL, NULL, NULL)

#define FIGURE_FIELD(to, field, ...) uint64_t field;

/* A bucket is a power of two of nanoseconds. */

static inline unsigned histogram_bucket(uint64_t ns)
{
    unsigned bucket = ns < 2 ? 0 : 63 - (unsigned)__builtin_clzll(ns);
    return bucket < LOCUS_HISTOGRAM_BUCKETS ? bucket : LOCUS_HISTOGRAM_BUCKETS - 1;
}

static inline void histogram_add(struct locus_histogram *h, uint64_t ns)
{
    unsigned bucket = histogram_bucket(ns);
    __atomic_store_n(&h->count[bucket], h->count[bucket] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&h->sum, h->sum + ns, __ATOMIC_RELAXED);
}

/* Adds what `from` has counted so far. */
static inline void histogram_sum(struct locus_histogram *to, const struct locus_histogram *from)
{
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++)
        to->count[i] += __atomic_load_n(&from->count[i], __ATOMIC_RELAXED);
    to->sum += __atomic_load_n(&from->sum, __ATOMIC_RELAXED);
}

static inline uint64_t histogram_count(const struct locus_histogram *h)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++)
        count += __atomic_load_n(&h->count[i], __ATOMIC_RELAXED);
    return count;
}

#endif
