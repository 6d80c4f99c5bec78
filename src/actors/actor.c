#include "actors/actor.h"

#include "base/error.h"
#include "base/process.h"
#include "intents/intents.h"
#include "intents/pacer.h"
#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/dispatch.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/repair.h"
#include "protocol/replica.h"
#include "protocol/round.h"
#include "protocol/saves.h"
#include "protocol/woken.h"
#include "store/row.h"

#include <errno.h>
#include <stdlib.h>

enum { ITEMS_AHEAD = 32 }; /* located and fetched together before the first is served */

/* Between looks for memory that no reader sees any more, while there is some. */
#define RECLAIM_PAUSE_MIN_NS UINT64_C(1000000)
#define RECLAIM_PAUSE_MAX_NS UINT64_C(1000000000)

static int init_pacer(struct shard *s, const struct shard_config *c)
{
    struct pacer *p = s->pacer = calloc(1, sizeof *p);
    if (!p) return -ENOMEM;
    p->has_own_core = c->has_own_core;
    p->round_ns = c->round_ns;
    p->kib_ns = c->kib_ns;
    unsigned per_second = s->plan->lab.rounds;
    if (per_second) p->pause_ns = UINT64_C(1000000000) / per_second;
    return pacer_init(p, s->workers);
}

static int init_parts(struct shard *s, const struct shard_config *c)
{
    const struct keyspace *k = &s->store->keyspace;
    const struct node_plan *plan = s->plan;
    s->asked_bytes = calloc(s->nodes, sizeof *s->asked_bytes);
    s->wrong = calloc(s->nodes, sizeof *s->wrong);
    s->active = calloc((size_t)s->workers * REQUEST_NUMBERS_MAX, sizeof(struct request *));
    s->intents = calloc(1, sizeof *s->intents);
    if (!s->asked_bytes || !s->wrong || !s->active || !s->intents) return -ENOMEM;
    if (clocks_init(s)) return -ENOMEM;
    if (plan->remembers && !(s->events = events_new())) return -ENOMEM;
    if (init_pacer(s, c) || backlog_init(s) || replica_init(s) || round_init(s)) return -ENOMEM;
    if (loss_init(s) || once_init(s)) return -ENOMEM;
    uint64_t keys = keyspace_count_below(k, k->keys, s->number);
    if (s->clock &&
        intents_init(s->intents, keys, plan->config.workers, plan->clock, plan->node_keys))
        return -ENOMEM;
    if (records_init(&s->records, keys)) return -ENOMEM;
    return saves_init(s);
}

size_t shard_memory_max(const struct store *store)
{
    return footprint_memory_bytes() / 4 / store->keyspace.shards;
}

int shard_init(struct shard *s, const struct shard_config *c)
{
    const struct node_plan *plan = c->plan;
    *s = (struct shard){.plan = plan,
                        .store = plan->store,
                        .platform = c->platform,
                        .technique = plan->technique,
                        .number = c->number,
                        .nodes = plan->store->home.nodes,
                        .rank = plan->store->home.rank,
                        .workers = plan->config.workers,
                        .serves = plan->technique->moves ? SERVES_OR_PASSES_ON : SERVES_HOME,
                        .credit_bytes = c->credit_bytes,
                        .memory_max = shard_memory_max(plan->store),
                        .dirty = plan->store->dirty ? &plan->store->dirty[c->number] : NULL,
                        .reclaim_ns = UINT64_MAX};
    mover_init(&s->mover, s->store);
    if (s->technique->heeds_intents) s->clock = plan->clock;
    int rc = init_parts(s, c);
    if (rc) shard_fini(s);
    return rc;
}

void shard_fini(struct shard *s)
{
    if (!s->store) return;
    mover_fini(&s->mover);
    if (s->intents) intents_fini(s->intents);
    if (s->pacer) pacer_fini(s->pacer);
    saves_fini(s);
    once_fini(s);
    loss_fini(s);
    round_fini(s);
    replica_fini(s);
    clocks_fini(s);
    backlog_fini(s);
    records_fini(&s->records);
    free(s->events);
    free(s->asked_bytes);
    free(s->wrong);
    free(s->active);
    free(s->intents);
    free(s->pacer);
    *s = (struct shard){0};
}

static uint64_t now_ns(const struct shard *s)
{
    return s->platform->now_ns(s->platform->context);
}

/* ---- intents ---- */

void shard_intent(struct shard *s, const struct intent_event *e)
{
    switch ((enum intent_kind)e->kind) {
    case INTENT_BEGINS:
        s->margin.begun++;
        replica_want(s, e);
        break;
    case INTENT_ENDS: replica_unwant(s, e->index); break;
    case INTENT_KEEPS: replica_keep(s, e); break;
    case INTENT_UNKEEPS: replica_unkeep(s, e->index); break;
    }
    woken_consider(s);
}

/* Once a run: nobody pays for what nobody asks for. */
static void note_intents(const struct shard *s, const struct intent_event *e, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (e[i].kind == INTENT_BEGINS)
            shard_note_intent(s, &e[i], EVENT_INTENDED, s->rank);
        else if (e[i].kind == INTENT_ENDS && s->records.state[e[i].index].wanted == 0)
            shard_event(s, e[i].index, s->rank, EVENT_EXPIRED, WHY_NONE, 0);
    }
}

static void hear(void *shard, const struct intent_event *e, unsigned count)
{
    struct shard *s = shard;
    for (unsigned i = 0; i < count; i++) record_fetch(&s->records, e[i].index);
    for (unsigned i = 0; i < count; i++) replica_fetch_found(s, e[i].index);
    for (unsigned i = 0; i < count; i++) shard_intent(s, &e[i]);
    if (s->events) note_intents(s, e, count);
}

static void turn_intents(struct shard *s)
{
    round_decide_lookaheads(s);
    intents_turn(s->intents, hear, s);
}

/* ---- requests ---- */

static void fetch_items(const struct shard *s, const struct request *r, uint32_t first)
{
    for (uint32_t i = first; i < r->count && i < first + ITEMS_AHEAD; i++) {
        word_fetch(store_row_ref(s->store, r->item[i].key));
        if (s->technique->moves)
            record_fetch(&s->records, keyspace_index(&s->store->keyspace, r->item[i].key));
    }
}

/* What the worker signaled before it asked counts before. */
static void begin_request(struct shard *s, struct request *r)
{
    r->began_ns = s->now_ns = now_ns(s);
    if (s->intents->workers && intents_have_news(s->intents)) turn_intents(s);
}

bool shard_serve(struct shard *s, struct request *r)
{
    if (s->failure) {
        if (s->failure == SHARD_REPAIRS) return false;
        shard_complete(s, r);
        return true;
    }
    clocks_taken(s, r);
    *shard_active(s, r->worker, r->number) = r;
    if (r->sent == 0) begin_request(s, r);
    if (r->count == 0) {
        if (r->kind == REQUEST_CLOCK)
            clocks_wait(s, r);
        else
            round_quiesce(s, r);
        return true;
    }
    if (s->stalled) return false; /* those came first, and would starve */
    /* With its last item the request may be complete, and its worker's again. */
    for (uint32_t i = r->sent, count = r->count; i < count; i++) {
        if (i % ITEMS_AHEAD == 0) fetch_items(s, r, i);
        r->sent = i + 1;
        bool is_taken = origin_take_on(s, r, i);
        woken_consider(s);
        if (is_taken) continue;
        r->sent = i;
        return false;
    }
    return true;
}

/* ---- turns ---- */

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
    /* The time may have been read before a frame came that is handled already. */
    if (now_ns > s->now_ns) s->now_ns = now_ns;
    if (s->failure) {
        if (s->failure == SHARD_REPAIRS) repair_turn(s);
        return s->failure ? UINT64_MAX : s->now_ns; /* it refused requests before this turn */
    }
    if (s->stalled) {
        origin_wake_stalled(s);
        woken_consider(s);
    }
    if (s->intents->workers) turn_intents(s);
    uint64_t idle_ns = copies_take_idle(s->store, s->now_ns), due_ns = round_turn(s),
             save_ns = saves_turn(s);
    if (idle_ns < due_ns) due_ns = idle_ns;
    if (save_ns < due_ns) due_ns = save_ns;
    reclaim(s);
    return s->reclaim_ns < due_ns ? s->reclaim_ns : due_ns;
}

bool shard_has_news(const struct shard *s)
{
    if (s->failure) return false;
    if (s->intents->workers && intents_have_news(s->intents)) return true;
    if (clocks_have_news(s)) return true;
    return s->dirty && !s->dirty_seen && !dirty_set_is_empty(s->dirty);
}

const char *shard_frame(struct shard *s, unsigned peer, const struct wire_frame *f,
                        const void *body)
{
    if (s->failure < 0) return NULL; /* every request was completed: what arrives is dropped */
    if (f->membership != s->store->home.membership) return "a frame of another membership";
    if (s->wrong[peer]) return s->wrong[peer];
    struct wire_cursor cursor = wire_cursor(f, body);
    s->now_ns = now_ns(s);
    if (s->dirty) replica_heard(s, peer);
    const char *why = dispatch(s, peer, &cursor);
    return why ? why : s->wrong[peer];
}

void shard_heartbeat(struct shard *s, unsigned peer)
{
    if (s->failure || !s->dirty) return;
    s->now_ns = now_ns(s);
    replica_heard(s, peer);
}

void shard_fail(struct shard *s, int rc)
{
    if (s->failure < 0) return;
    s->failure = rc;
    for (size_t i = 0; i < (size_t)s->workers * REQUEST_NUMBERS_MAX; i++) {
        struct request *r = s->active[i];
        /* one that waits for credit comes back to shard_serve */
        if (!r || r->sent < r->count) continue;
        shard_complete(s, r);
    }
}

/* ---- what others ask ---- */

static void add_holders(const struct shard *s, struct record *r, struct key_snapshot *out)
{
    uint64_t version = holders_version(r, shard_row_ref(s, r->index));
    uint32_t now_us = (uint32_t)(out->now_ns / 1000);
    for (unsigned i = 0; i < r->holders; i++) {
        const struct holder *h = &r->holder[i];
        if (out->holders == SNAPSHOT_HOLDERS_MAX) {
            out->more_holders++;
            continue;
        }
        out->holder[out->holders++] = (struct snapshot_holder){
            .node = h->node,
            .is_kept = h->is_kept,
            .is_current = h->seen >= version,
            .brought_ns = UINT64_C(1000) * (uint32_t)(now_us - h->brought_us)};
    }
}

static void add_record(const struct shard *s, struct record *r, struct key_snapshot *out)
{
    out->is_asking = r->sync != SYNC_NONE;
    for (const struct parked *p = r->parked; p; p = p->next) out->parked++;
    if (out->is_here) add_holders(s, r, out);
}

void shard_snapshot(struct shard *s, uint64_t index, struct key_snapshot *out)
{
    struct location l = location_of(s, shard_row_ref(s, index));
    const struct key_state *state = &s->records.state[index];
    struct record *r = record_find(&s->records, index);
    *out = (struct key_snapshot){.now_ns = s->platform->now_ns(s->platform->context),
                                 .owner = l.owner,
                                 .term = l.term,
                                 .is_here = l.is_here,
                                 .is_replica = l.is_replica,
                                 .is_kept = state->is_kept,
                                 .wanted = state->wanted};
    if (l.is_replica) {
        uint64_t heard_ns = s->replicas->source[r && r->version ? r->source : l.owner].heard_ns;
        out->heard_ns = out->now_ns > heard_ns ? out->now_ns - heard_ns : 0;
    }
    if (r) add_record(s, r, out);
}

static void add(uint64_t *to, const uint64_t *from)
{
    *to += __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

void shard_add_counters(const struct shard *s, struct shard_counters *to)
{
#define ADD(to_stats, field, ...) add(&to->field, &s->counters.field);
    SHARD_FIGURES(ADD)
}

/* Between two frames a replica has every age up to the gap, each for the same time. So this is
 * exact at the borders of buckets: replicas with a longer gap spend the whole width of a bucket in
 * it; those whose gap ends in the bucket, the part up to the gap. */
static void add_ages(const struct shard *s, struct locus_histogram *to)
{
    double longer = 0, ages = 0;
    for (unsigned i = LOCUS_HISTOGRAM_BUCKETS; i-- > 0;) {
        uint64_t replicas = 0, us = 0;
        add(&replicas, &s->histograms.gap[i].replicas);
        add(&us, &s->histograms.gap[i].replica_us);
        double begin = i == 0 ? 0 : (double)(UINT64_C(1) << i);
        double width = (double)(UINT64_C(2) << i) - begin;
        double last = 1e3 * (double)us - begin * (double)replicas;
        to->count[i] += (uint64_t)(1e-6 * (longer * width + (last > 0 ? last : 0)));
        longer += (double)replicas;
    }
    struct shard_counters c = {0};
    shard_add_counters(s, &c);
    ages = (double)to->sum + shard_aged_us(&c);
    to->sum = ages < (double)(UINT64_MAX / 2) ? (uint64_t)ages : UINT64_MAX / 2;
}

void shard_add_histogram(const struct shard *s, enum locus_histogram_kind kind,
                         struct locus_histogram *to)
{
    if (kind == LOCUS_RELOCATION_TIME) histogram_sum(to, &s->histograms.relocation);
    if (kind == LOCUS_PARKED_TIME) histogram_sum(to, &s->histograms.parked);
    if (kind == LOCUS_STALENESS) add_ages(s, to);
    for (unsigned hops = 0; kind == LOCUS_HOPS && hops < SHARD_HOPS; hops++) {
        add(&to->count[hops], &s->histograms.hops[hops]);
        to->sum += hops * __atomic_load_n(&s->histograms.hops[hops], __ATOMIC_RELAXED);
    }
}

size_t shard_asked_bytes(const struct shard *s, unsigned peer)
{
    return __atomic_load_n(&s->asked_bytes[peer], __ATOMIC_RELAXED);
}
