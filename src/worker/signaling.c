#include "worker/signaling.h"

#include "base/error.h"
#include "base/sync.h"
#include "intents/intents.h"
#include "protocol/clocks.h"

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

static struct intents *intents_of(const locus_worker *w, unsigned shard)
{
    return w->node->intents[shard];
}

static void begin(const locus_worker *w, struct intent_stream **streams, locus_clock start,
                  locus_clock end, locus_clock now)
{
    for (unsigned s = 0; s < shards_of(w); s++)
        stream_begin(streams[s], start, end, now,
                     intents_lookahead(intents_of(w, s), (unsigned)w->id));
}

/* Did the worker go on while a loader raised ends of its wants? Sequentially consistent: either we
 * see its clock here, or the shard sees what was raised when it looks at that clock. */
static bool came_late(const locus_worker *w, struct intent_stream **streams)
{
    LOCUS_YIELD();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    locus_clock now = __atomic_load_n(&w->clock, __ATOMIC_SEQ_CST);
    bool is_late = false;
    for (unsigned s = 0; s < shards_of(w); s++) is_late |= stream_came_late(streams[s], now);
    return is_late;
}

static int add(const locus_worker *w, struct intent_stream **streams, const locus_key *keys,
               size_t n, int stream_takes(struct intent_stream *, uint64_t))
{
    enum { AHEAD = 8 }; /* keys that are looked up together */
    const struct keyspace *k = &w->store->keyspace;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i += AHEAD) {
        struct intent_stream *stream[AHEAD];
        uint64_t index[AHEAD];
        size_t count = n - i < AHEAD ? n - i : AHEAD;
        for (size_t j = 0; j < count; j++) {
            index[j] = keyspace_index(k, keys[i + j]);
            stream[j] = streams[keys[i + j] - index[j] * k->shards];
            __builtin_prefetch(stream_wants(stream[j], index[j]), 1);
        }
        for (size_t j = 0; j < count && rc == 0; j++) rc = stream_takes(stream[j], index[j]);
    }
    return rc;
}

/* How many keys were written, or -ENOMEM: none. */
static int64_t write_keys(locus_worker *w, struct intent_stream **streams, const locus_key *keys,
                          size_t n, locus_clock start, locus_clock end, locus_clock now)
{
    begin(w, streams, start, end, now);
    LOCUS_YIELD();
    int rc = add(w, streams, keys, n, stream_add);
    if (rc == 0 && came_late(w, streams)) rc = add(w, streams, keys, n, stream_write);
    int64_t written = 0;
    for (unsigned s = 0; s < shards_of(w); s++) {
        written += (int64_t)streams[s]->call.added;
        if (rc) stream_undo(streams[s]);
    }
    if (rc == 0) return written;
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

/* Wants of the node that wait for their start; the shards subtract those that no longer do. Who
 * passes the bound adds nothing: others would find no room meanwhile. */
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
    if (rc) return rc;
    int64_t written = streams && end > now ? write_keys(w, streams, keys, n, start, end, now) : 0;
    /* a want that goes on does not wait; and a call that came late counts keys twice */
    if (streams && waits)
        __atomic_fetch_add(&w->node->waiting_keys, (written < 0 ? 0 : written) - (int64_t)n,
                           __ATOMIC_RELAXED);
    if (written < 0) return (int)written;
    __atomic_fetch_add(&w->signaled, n, __ATOMIC_RELAXED);
    if (written > 0) publish(w, streams, start, now);
    return 0;
}

int signaling_unintend(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!w->stream) return 0;
    locus_clock now = locus_current_clock(w);
    int64_t rc = write_keys(w, w->stream, keys, n, now, INTENT_TAKES_BACK, now);
    if (rc > 0) publish(w, w->stream, now, now);
    return rc < 0 ? (int)rc : 0;
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
