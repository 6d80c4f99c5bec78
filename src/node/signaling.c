#include "node/signaling.h"

#include "base/error.h"
#include "protocol/clocks.h"
#include "protocol/intents.h"

#include <errno.h>
#include <stdlib.h>

static unsigned shards_of(const locus_worker *w)
{
    return w->store->keyspace.shards;
}

int signaling_open(locus_worker *w, struct intent_stream ***streams)
{
    *streams = NULL;
    if (!w->node->heeds_intents) return 0;
    struct intent_stream **stream = calloc(shards_of(w), sizeof(struct intent_stream *));
    bool ok = stream != NULL;
    for (unsigned s = 0; ok && s < shards_of(w); s++) {
        stream[s] = intents_open_stream(w->node->intents[s], (unsigned)w->id);
        ok = stream[s] != NULL;
    }
    *streams = stream;
    if (ok) return 0;
    signaling_close(w, streams, false);
    return error_set(-ENOMEM, "no memory for the intents of worker %d", w->id);
}

static void wake(const locus_worker *w, unsigned shard)
{
    reactor_wake(cluster_reactors(w->node->cluster)[shard]);
}

void signaling_close(locus_worker *w, struct intent_stream ***streams, bool ends_worker)
{
    if (!*streams) return;
    for (unsigned s = 0; s < shards_of(w); s++) {
        if (!(*streams)[s]) continue;
        stream_close((*streams)[s], ends_worker);
        wake(w, s);
    }
    free(*streams);
    *streams = NULL;
}

static int record(locus_worker *w, struct intent_stream **streams, const locus_key *keys, size_t n,
                  locus_clock start, locus_clock end, bool waits)
{
    const struct keyspace *k = &w->store->keyspace;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        uint64_t index = keyspace_index(k, keys[i]);
        rc = stream_add(streams[keys[i] - index * k->shards], start, end, waits, index);
    }
    if (rc == 0) return 0;
    for (unsigned s = 0; s < shards_of(w); s++) stream_undo(streams[s]);
    return error_set(rc, "no memory for the intents of worker %d", w->id);
}

static void publish(locus_worker *w, struct intent_stream **streams, locus_clock start,
                    locus_clock now)
{
    for (unsigned s = 0; s < shards_of(w); s++) {
        if (!stream_has_unpublished(streams[s])) continue;
        stream_publish(streams[s]);
        if (intents_published(w->node->intents[s], (unsigned)w->id, start, now)) wake(w, s);
    }
}

/* Keys of the node that wait for their start; the shards subtract those that no longer do. Not
 * added and taken back: meanwhile others would find no room. */
static int count_waiting(uint64_t *node_keys, uint64_t n)
{
    uint64_t waiting = __atomic_load_n(node_keys, __ATOMIC_RELAXED);
    do {
        if (n > LOCUS_WAITING_KEYS_MAX || waiting > LOCUS_WAITING_KEYS_MAX - n)
            return error_set(-ENOBUFS,
                             "%llu keys of this node wait for the start of their intent, %llu more "
                             "pass the limit of %d: signal later",
                             (unsigned long long)waiting, (unsigned long long)n,
                             LOCUS_WAITING_KEYS_MAX);
    } while (!__atomic_compare_exchange_n(node_keys, &waiting, waiting + n, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return 0;
}

int signaling_intent(locus_worker *w, struct intent_stream **streams, const locus_key *keys,
                     size_t n, locus_clock start, locus_clock end)
{
    locus_clock now = locus_current_clock(w);
    if (start < now) start = now;
    bool waits = start > now;
    int rc = streams && waits ? count_waiting(&w->node->waiting_keys, n) : 0;
    if (rc == 0 && streams && end > now) rc = record(w, streams, keys, n, start, end, waits);
    if (rc) {
        if (rc == -ENOMEM && waits) __atomic_fetch_sub(&w->node->waiting_keys, n, __ATOMIC_RELAXED);
        return rc;
    }
    __atomic_fetch_add(&w->signaled, n, __ATOMIC_RELAXED);
    if (streams) publish(w, streams, start, now);
    return 0;
}

int signaling_unintend(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!w->stream) return 0;
    locus_clock now = locus_current_clock(w);
    int rc = record(w, w->stream, keys, n, now, INTENT_TAKES_BACK, false);
    if (rc == 0) publish(w, w->stream, now, now);
    return rc;
}

/* To the shards that count clocks (bounded staleness). */
static void tell_clocks(const locus_worker *w, locus_clock now)
{
    for (unsigned s = 0; w->node->clocks && s < shards_of(w); s++)
        if (clocks_advanced(w->node->clocks[s], now)) wake(w, s);
}

void signaling_advance(locus_worker *w, locus_clock now)
{
    for (unsigned s = 0; w->stream && s < shards_of(w); s++)
        if (intents_advanced(w->node->intents[s], (unsigned)w->id, now)) wake(w, s);
    tell_clocks(w, now);
}

void signaling_progress(locus_worker *w, locus_clock now)
{
    __atomic_store_n(&w->progress, now, __ATOMIC_SEQ_CST);
    tell_clocks(w, now);
}
