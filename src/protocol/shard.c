#include "protocol/shard.h"

#include "protocol/origin.h"
#include "protocol/location.h"
#include "protocol/owner.h"
#include "protocol/handover.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

/* Entries and items that are located and fetched together before the first is served. */
enum { SERVE_AHEAD = 32 };

/* Of a frame that is not larger the clock tells well enough what it took, which is not more than this. */
enum { SMALL_FRAME_BYTES = 4096, SMALL_FRAME_NS = 20000 };

/* Between looks for memory that no reader sees any more, while there is some. */
#define RECLAIM_PAUSE_MIN_NS UINT64_C(1000000)
#define RECLAIM_PAUSE_MAX_NS UINT64_C(1000000000)

static int init_parts(struct shard *s, const struct shard_config *c)
{
    const struct keyspace *k = &s->store->keyspace;
    struct governor *g = &s->rounds.governor;
    g->round_ns = c->round_ns;
    g->kib_ns = c->kib_ns;
    if (c->max_rounds_per_second) g->pause_ns = UINT64_C(1000000000) / c->max_rounds_per_second;
    s->asked_bytes = calloc(s->nodes, sizeof *s->asked_bytes);
    s->active = calloc((size_t)s->workers * REQUEST_NUMBERS_MAX, sizeof(struct request *));
    if (!s->asked_bytes || !s->active || entries_init(s) || rounds_init(s)) return -ENOMEM;
    return records_init(&s->records, keyspace_count_below(k, k->keys, s->number));
}

static bool heeds_intents(const struct shard *s)
{
    return s->technique != LOCUS_STATIC && !shard_is_full(s);
}

int shard_init(struct shard *s, const struct shard_config *c)
{
    *s = (struct shard){.store = c->store,
                        .port = c->port,
                        .technique = c->technique,
                        .moves = c->technique != LOCUS_STATIC,
                        .number = c->number,
                        .nodes = c->store->home.nodes,
                        .rank = c->store->home.rank,
                        .workers = c->workers,
                        .window_bytes = c->window_bytes,
                        .acts_immediately = c->acts_immediately,
                        .marks = c->store->marks ? &c->store->marks[c->number] : NULL,
                        .reclaim_ns = UINT64_MAX};
    mover_init(&s->mover, s->store);
    int rc = init_parts(s, c);
    if (rc == 0 && c->clock && heeds_intents(s)) rc = intents_init(&s->intents, c->workers, c->clock, c->node_keys);
    if (rc) shard_fini(s);
    return rc;
}

void shard_fini(struct shard *s)
{
    if (!s->store) return;
    mover_fini(&s->mover);
    intents_fini(&s->intents);
    rounds_fini(s);
    entries_fini(s);
    records_fini(&s->records);
    free(s->asked_bytes);
    free(s->active);
    *s = (struct shard){0};
}

static struct request **active_place(struct shard *s, unsigned worker, unsigned number)
{
    return &s->active[(size_t)worker * REQUEST_NUMBERS_MAX + number];
}

static uint64_t now_ns(const struct shard *s)
{
    return s->port->now_ns(s->port->context);
}

static void fetch_items(const struct shard *s, const struct request *r, uint32_t first)
{
    for (uint32_t i = first; i < r->count && i < first + SERVE_AHEAD; i++) {
        word_fetch(store_spot(s->store, r->item[i].key));
        if (s->moves) record_fetch(&s->records, keyspace_index(&s->store->keyspace, r->item[i].key));
    }
}

void shard_complete(struct shard *s, struct request *r)
{
    *active_place(s, r->worker, r->number) = NULL;
    s->port->complete(s->port->context, r, s->failure);
}

/* Quiesce: the rounds complete it. */
static void settle(struct shard *s, struct request *r)
{
    INVARIANT(!s->rounds.settle[r->worker], "a worker quiesces twice at once");
    s->rounds.settle[r->worker] = r;
    s->rounds.settles++;
}

bool shard_serve(struct shard *s, struct request *r)
{
    if (s->failure) {
        shard_complete(s, r);
        return true;
    }
    *active_place(s, r->worker, r->number) = r;
    if (r->sent == 0) r->began_ns = s->now_ns = now_ns(s);
    if (r->count == 0) {
        settle(s, r);
        return true;
    }
    if (s->stalled) return false; /* those came first, and would starve */
    /* With its last item the request may be complete, and its worker's again. */
    for (uint32_t i = r->sent, count = r->count; i < count; i++) {
        if (i % SERVE_AHEAD == 0) fetch_items(s, r, i);
        r->sent = i + 1;
        if (access_take_on(s, r, i)) continue;
        r->sent = i;
        return false;
    }
    return true;
}

/* Rows that left give their memory back when every read section has ended that could see them. */
static void reclaim(struct shard *s)
{
    size_t held = s->mover.open.count + s->mover.waiting.count;
    if (held == 0) {
        s->reclaim_ns = UINT64_MAX;
        return;
    }
    if (s->reclaim_ns != UINT64_MAX && s->now_ns < s->reclaim_ns) return;
    mover_reclaim(&s->mover);
    bool freed = s->mover.open.count + s->mover.waiting.count < held;
    uint64_t longer = s->reclaim_pause_ns * 2;
    s->reclaim_pause_ns = freed || longer == 0 ? RECLAIM_PAUSE_MIN_NS : longer;
    if (s->reclaim_pause_ns > RECLAIM_PAUSE_MAX_NS) s->reclaim_pause_ns = RECLAIM_PAUSE_MAX_NS;
    s->reclaim_ns = s->now_ns + s->reclaim_pause_ns;
}

uint64_t shard_turn(struct shard *s, uint64_t now_ns)
{
    const struct intent_events events = {
        s, entries_fetch, entries_fetch_found, entries_want, entries_unwant, rounds_window, rounds_ahead};
    /* The clock may have been read before a frame came that is handled already. */
    if (now_ns > s->now_ns) s->now_ns = now_ns;
    if (s->failure) return UINT64_MAX;
    if (s->stalled) access_go_on(s);
    if (s->intents.workers) {
        rounds_look(s);
        intents_turn(&s->intents, &events);
    }
    uint64_t due_ns = rounds_turn(s);
    reclaim(s);
    if (s->reclaim_ns < due_ns) due_ns = s->reclaim_ns;
    if (!s->trace) return due_ns;
    uint64_t look_ns = trace_look(s);
    return look_ns < due_ns ? look_ns : due_ns;
}

bool shard_has_news(const struct shard *s)
{
    if (s->failure) return false;
    if (s->intents.workers && intents_have_news(&s->intents)) return true;
    return s->marks && !s->marks_seen && !marks_are_empty(s->marks);
}

static void check_held(int rc)
{
    INVARIANT(rc >= 0 || rc == -ENOMEM, "a row that is here was not found");
}

void shard_read(struct spot spot, float *values)
{
    check_held(row_read(spot, values));
}

void shard_write(struct shard *s, struct spot spot, const float *values, enum row_change change)
{
    for (int rc; (rc = row_write(spot, values, change)) < 0; mover_wait(&s->mover)) check_held(rc);
    if (s->trace) trace_wrote(s->trace, spot.index);
}

static const char *check_entry(const struct shard *s, const struct wire_entry *e)
{
    if (e->key >= s->store->keyspace.keys) return "a key that does not exist";
    if (keyspace_shard(&s->store->keyspace, e->key) != s->number) return "a key of another shard";
    return NULL;
}

static const char unheard_of[] = "an entry of what the cluster's technique does not know";

static const char *handle(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    switch ((enum wire_operation)e->operation) {
    case WIRE_PULL:
    case WIRE_PUSH:
    case WIRE_SET:
    case WIRE_LOCALIZE: return access_serve(s, peer, e);
    case WIRE_PULLED:
    case WIRE_PUSHED:
    case WIRE_WAS_SET:
    case WIRE_STAYS: return access_answer(s, peer, e);
    case WIRE_ROW: return s->moves ? relocation_arrive(s, e) : unheard_of;
    case WIRE_LOCATION: return s->moves ? location_news(s, e) : unheard_of;
    case WIRE_ENTRY: return s->moves ? owner_entry(s, peer, e) : unheard_of;
    case WIRE_ANSWER: return s->marks ? entries_answer(s, e) : unheard_of;
    case WIRE_REFRESH: return s->marks ? entries_refresh(s, peer, e) : unheard_of;
    case WIRE_POKE: return s->marks ? entries_poke(s, e) : unheard_of;
    case WIRE_ROUND:
    case WIRE_ROUND_DONE: return s->moves ? rounds_end(s, peer, e) : unheard_of;
    case WIRE_OPERATIONS: break;
    }
    return "an entry of no known operation";
}

static bool is_request(const struct wire_entry *e)
{
    return e->operation <= WIRE_LOCALIZE;
}

static bool touches_row(const struct wire_entry *e)
{
    bool has_row = e->length > 0 || (e->operation == WIRE_ROW && e->flags & WIRE_HOLDER);
    return is_request(e) || e->operation == WIRE_ENTRY || (has_row && e->operation >= WIRE_ROW);
}

/* What serving it will look at is on its way into the cache. */
static void fetch(const struct shard *s, const struct wire_entry *e)
{
    word_fetch(store_spot(s->store, e->key));
    if (s->moves) record_fetch(&s->records, keyspace_index(&s->store->keyspace, e->key));
}

/* A moment later: what the first look tells. */
static void fetch_found(const struct shard *s, const struct wire_entry *e)
{
    if (touches_row(e)) rows_fetch_found(s->store, &e->key, 1);
    if (s->moves) record_fetch_found(&s->records, keyspace_index(&s->store->keyspace, e->key));
}

/* The next entries of a frame, checked and fetched. Returns how many. */
static unsigned gather(struct shard *s, struct wire_cursor *c, const struct wire_entry **entry, const char **why)
{
    unsigned n = 0;
    while (n < SERVE_AHEAD && (entry[n] = wire_next(c, why))) {
        *why = check_entry(s, entry[n]);
        if (*why) break;
        fetch(s, entry[n]);
        n++;
    }
    for (unsigned i = 0; i < n; i++) fetch_found(s, entry[i]);
    for (unsigned i = 0; i < n; i++)
        if (entry[i]->operation == WIRE_ENTRY) owner_fetch(s, keyspace_index(&s->store->keyspace, entry[i]->key));
    return n;
}

static bool synchronizes(const struct wire_entry *e)
{
    return e->operation == WIRE_REFRESH || (e->operation != WIRE_ROW && e->flags & (WIRE_UPDATE | WIRE_HOLDER));
}

static const char *serve_entries(struct shard *s, unsigned peer, struct wire_cursor *cursor, bool *is_sync)
{
    const struct wire_entry *entry[SERVE_AHEAD];
    const char *why = NULL;
    for (;;) {
        unsigned n = gather(s, cursor, entry, &why);
        for (unsigned i = 0; i < n; i++) {
            *is_sync |= synchronizes(entry[i]);
            const char *wrong = handle(s, peer, entry[i]);
            if (wrong) return wrong;
        }
        if (why || n < SERVE_AHEAD) return why;
    }
}

/* Processor time: where threads are many the clock may count what others had. */
static uint64_t serving_ns(const struct shard *s, bool is_large, uint64_t began_cpu_ns)
{
    if (is_large) return s->port->cpu_ns(s->port->context) - began_cpu_ns;
    uint64_t ns = now_ns(s) - s->now_ns;
    return ns < SMALL_FRAME_NS ? ns : SMALL_FRAME_NS;
}

static const char *serve_frame(struct shard *s, unsigned peer, const struct wire_frame *f, const void *body)
{
    struct wire_cursor cursor = wire_cursor(f, body);
    bool is_sync = false, is_large = s->marks && f->body_bytes > SMALL_FRAME_BYTES;
    uint64_t cpu_ns = is_large ? s->port->cpu_ns(s->port->context) : 0;
    rounds_frame_begins(s);
    const char *why = serve_entries(s, peer, &cursor, &is_sync);
    if (is_sync && s->marks) rounds_served(s, serving_ns(s, is_large, cpu_ns), f->body_bytes);
    if (s->marks) entries_heard(s, peer);
    return why;
}

const char *shard_frame(struct shard *s, unsigned peer, const struct wire_frame *f, const void *body)
{
    if (s->failure) return NULL; /* every request was completed; what still arrives is for nobody */
    if (f->view != s->store->home.view) return "a frame of another cluster view";
    s->now_ns = now_ns(s);
    return serve_frame(s, peer, f, body);
}

void shard_fail(struct shard *s, int rc)
{
    if (s->failure) return;
    s->failure = rc;
    for (size_t i = 0; i < (size_t)s->workers * REQUEST_NUMBERS_MAX; i++) {
        struct request *r = s->active[i];
        if (!r || r->sent < r->count) continue; /* one that waits for the window comes back to shard_serve */
        shard_complete(s, r);
    }
}

static void add(uint64_t *to, const uint64_t *from)
{
    *to += __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

void shard_add_counters(const struct shard *s, struct shard_counters *to)
{
    add(&to->served_pulls, &s->counters.served_pulls);
    add(&to->served_pushes, &s->counters.served_pushes);
    /* What ends before what begins, in this order, so that no more seem to have ended than began. */
    add(&to->relocated_out, &s->counters.relocated_out);
    add(&to->replicas_dropped, &s->counters.replicas_dropped);
    add(&to->relocated_in, &s->counters.relocated_in);
    add(&to->replicas_created, &s->counters.replicas_created);
    add(&to->forwards, &s->counters.forwards);
    add(&to->rounds, &s->counters.rounds);
    add(&to->intents_late, &s->counters.intents_late);
    add(&to->stale_us, &s->counters.stale_us);
    add(&to->stale_us_squared, &s->counters.stale_us_squared);
}

void shard_add_histogram(const struct shard *s, enum locus_histogram_kind kind, struct locus_histogram *to)
{
    if (kind == LOCUS_RELOCATION_TIME) histogram_sum(to, &s->histograms.relocation);
    if (kind == LOCUS_PARKED_TIME) histogram_sum(to, &s->histograms.parked);
    for (unsigned hops = 0; kind == LOCUS_HOPS && hops < SHARD_HOPS; hops++) {
        add(&to->count[hops], &s->histograms.hops[hops]);
        to->sum += hops * __atomic_load_n(&s->histograms.hops[hops], __ATOMIC_RELAXED);
    }
}
