#include "protocol/dispatch.h"

#include "base/error.h"
#include "base/sync.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"
#include "protocol/round.h"
#include "protocol/saves.h"
#include "protocol/woken.h"

#include <errno.h>
#include <stdlib.h>

/* ---- what arrives is checked ---- */

static bool is_known(const struct shard *s, const struct wire_rule *rule)
{
    if (rule->technique == WIRE_ALL) return true;
    return rule->technique == WIRE_MOVING ? s->technique->moves : s->dirty != NULL;
}

static bool may_have(const struct wire_rule *rule, uint8_t flags)
{
    if (rule->flags[0] == flags) return true;
    for (unsigned i = 1; i < rule->flag_sets; i++)
        if (rule->flags[i] == flags) return true;
    return false;
}

static const char *check_nodes(const struct shard *s, unsigned peer, const struct wire_entry *e,
                               enum wire_route route)
{
    switch (route) {
    case WIRE_REQUEST:
        if (e->origin >= s->nodes || e->owner >= s->nodes)
            return "a request of a node that does not exist";
        /* where rows do not move, nobody passes it on */
        return s->technique->moves || e->origin == peer ? NULL
                                                        : "a request in the name of another node";
    case WIRE_REPLY:
        if (e->owner != peer) return "an answer in the name of another node";
        return e->origin == s->rank ? NULL : "an answer that another node was asked for";
    case WIRE_GIFT:
        if (e->owner != s->rank) return "a row for another node";
        break;
    case WIRE_NEWS:
        if (e->owner >= s->nodes) return "news of a node that does not exist";
        if (e->owner == s->rank)
            return "news of a row that is ours"; /* the row itself tells that */
        if (e->term >> DIRECTORY_TERM_BITS) return "news of no possible term";
        break;
    case WIRE_OF_SHARD:
        if (e->owner != peer) return "an entry in the name of another node";
        break;
    }
    return e->origin == peer ? NULL : "an entry in the name of another node";
}

static uint32_t length_of(const struct wire_rule *rule, const struct wire_entry *e,
                          const struct partition *p)
{
    switch ((enum wire_values)rule->values) {
    case WIRE_NO_VALUES: break;
    case WIRE_ROW_UPDATES: return p->length;
    case WIRE_A_ROW: return p->stored;
    case WIRE_MAYBE_A_ROW: return e->length ? p->stored : 0;
    case WIRE_ROW_OR_VALUES: return e->flags & WIRE_STATE ? p->stored : p->packed;
    case WIRE_DELTA_OR_ROW:
        if (e->flags & WIRE_GRADIENT)
            return p->optimizer && p->optimizer->keeps_gradients ? p->length + OPTIMIZER_STEP_FLOATS
                                                                 : UINT32_MAX;
        if (e->flags & WIRE_UPDATE) return p->delta;
        return e->flags & WIRE_VALUE ? p->stored : 0;
    case WIRE_TAGS: return e->length ? e->length : 1;
    }
    return 0;
}

/* All that can be checked of an entry whatever the state of the shard. wire_next() has passed it.
 * Returns NULL, or what is wrong with it. */
static const char *check(const struct shard *s, unsigned peer, const struct wire_entry *e,
                         struct arrival *out)
{
    const struct wire_rule *rule = &wire_rules[e->operation];
    out->entry = e;
    out->peer = peer;
    if (!is_known(s, rule)) return "an entry of what the cluster's technique does not know";
    if (rule->route == WIRE_OF_SHARD) {
        if (e->key || e->length) return "a round or a clock with a key or values";
        out->ref = (struct row_ref){0};
    } else {
        if (e->key >= s->store->keyspace.keys) return "a key that does not exist";
        if (keyspace_shard(&s->store->keyspace, e->key) != s->number)
            return "a key of another shard";
        out->ref = store_row_ref(s->store, e->key);
        if (e->length != length_of(rule, e, out->ref.partition))
            return "a row of another length than its table's";
    }
    if (!may_have(rule, e->flags)) return "an entry with flags of something else";
    return check_nodes(s, peer, e, rule->route);
}

static void fetch(const struct shard *s, const struct arrival *a)
{
    if (!a->ref.partition) return;
    word_fetch(a->ref);
    if (s->technique->moves) record_fetch(&s->records, a->ref.index);
}

/* Will it read or write the row? */
static bool touches_row(const struct wire_entry *e)
{
    return wire_rules[e->operation].route == WIRE_REQUEST || e->encoding == WIRE_AS_REPLICA ||
           (e->length > 0 && e->operation != WIRE_PULLED);
}

/* A moment later: what the first look tells. */
static void fetch_found(const struct shard *s, const struct arrival *a)
{
    if (!a->ref.partition) return;
    if (touches_row(a->entry)) row_fetch_found(a->ref);
    if (s->technique->moves) record_fetch_found(&s->records, a->ref.index);
}

enum { FETCHED_AHEAD = 32 }; /* together, before the first is served */

/* The next entries of a frame, checked and fetched. Returns how many; fewer than FETCHED_AHEAD: the
 * frame ends, or *why says what is wrong with the one behind them. */
static unsigned take_arrivals(const struct shard *s, unsigned peer, struct wire_cursor *c,
                              struct arrival arrived[FETCHED_AHEAD], const char **why)
{
    const struct wire_entry *e;
    unsigned n = 0;
    while (n < FETCHED_AHEAD && (e = wire_next(c, why))) {
        *why = check(s, peer, e, &arrived[n]);
        if (*why) break;
        fetch(s, &arrived[n]);
        n++;
    }
    for (unsigned i = 0; i < n; i++) fetch_found(s, &arrived[i]);
    for (unsigned i = 0; i < n; i++)
        if (arrived[i].entry->operation == WIRE_SYNC)
            record_fetch_holders(&s->records, arrived[i].ref.index);
    return n;
}

/* ---- the row is not here ---- */

/* All nodes together can have this much under way, by their credit; a single entry may be larger.
 * During a repair also what a round of each has. Of many nodes that is more than there is. */
static size_t parked_max(const struct shard *s)
{
    size_t entry = shard_entry_bytes_max(s->store),
           credit = s->credit_bytes > entry ? s->credit_bytes : entry,
           round = s->failure ? s->rounds->capacity + entry : 0,
           all = s->nodes * (s->nodes * credit + round);
    return all < s->memory_max ? all : s->memory_max;
}

static const char *park(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (s->parked_bytes + wire_entry_bytes(e->length) > parked_max(s))
        return "more requests for rows on their way than the credit of all nodes, or our memory, "
               "allows";
    struct record *r = record_get(&s->records, a->ref.index);
    size_t bytes = wire_entry_bytes(e->length);
    struct parked *p = malloc(offsetof(struct parked, entry) + bytes);
    INVARIANT(p != NULL, "no memory to park a request");
    p->next = NULL;
    p->since_ns = s->now_ns;
    p->peer = a->peer;
    memcpy(&p->entry, e, bytes);
    if (r->parked)
        r->parked->last->next = p;
    else
        r->parked = p;
    r->parked->last = p;
    s->parked_bytes += bytes;
    return NULL;
}

static const char *forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    /* Else two nodes might send it to and fro for ever. */
    if (e->owner == s->rank && e->term == to.term)
        return "a request by an ownership that another node has";
    struct wire_entry on = *e;
    on.owner = (uint16_t)to.owner;
    on.term = to.term;
    if (on.hops < UINT8_MAX) on.hops++;
    struct wire_entry *sent = shard_entry(s, to.owner, on, shard_can_wait_until(s, e));
    if (!sent) return NULL;
    memcpy(wire_values(sent), wire_values_const(e), e->length * sizeof(float));
    shard_count(&s->counters.forwards, 1);
    return NULL;
}

/* The row is not here: on to its owner, or it waits for the row. */
static const char *pass_on(struct shard *s, const struct arrival *a, struct location l)
{
    return l.owner == s->rank ? park(s, a) : forward(s, a->entry, l);
}

static __attribute__((cold)) const char *park_in_repair(struct shard *s, const struct arrival *a)
{
    return s->losses->is_member[a->entry->origin] ? park(s, a) : NULL;
}

/* ---- requests ---- */

static const char *serve_request(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (s->serves == SERVES_OR_PASSES_ON) {
        const char *wrong = e->origin == s->rank ? origin_check(s, e) : NULL;
        if (wrong) return wrong;
        location_learn(s, a->ref, e->owner, e->term);
    } else if (s->serves == SERVES_NOBODY) {
        return park_in_repair(s, a);
    } else if (!row_ref_is_home(a->ref)) {
        return "a request for a row that is not here";
    }
    struct location l = location_of(s, a->ref);
    if (!l.is_here) return pass_on(s, a, l);
    shard_count(&s->histograms.hops[e->hops < SHARD_HOPS ? e->hops : SHARD_HOPS - 1], 1);
    if (e->origin == s->rank)
        origin_came_back(s, e, a->ref);
    else
        owner_serve(s, e, a->ref);
    return NULL;
}

/* ---- intents and replicas ---- */

static const char *serve_sync(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    bool begins = e->flags & WIRE_BEGIN;
    location_learn(s, a->ref, e->owner, e->term);
    struct location l = location_of(s, a->ref);
    struct record *r = record_find(&s->records, a->ref.index);
    if (e->origin == s->rank && (!begins || !r || !r->sync)) return "an entry in our own name";
    if (!l.is_here)
        return begins ? pass_on(s, a, l) : "an update of a replica whose row is not here";
    if (e->origin != s->rank) return owner_sync(s, e, a->ref);
    replica_came_back(s, r); /* the row has come here by another way */
    return NULL;
}

/* ---- a row arrives ---- */

static const char *check_row(const struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct location known = location_of(s, a->ref);
    if (known.is_here) return "a row that is here already";
    if (e->term < known.term || (e->term == known.term && known.owner != s->rank))
        return "a row whose ownership has passed on";
    if (e->term == 0 || e->term >> DIRECTORY_TERM_BITS) return "a row of no possible term";
    return e->flags & WIRE_LOCALIZED ? origin_check(s, e) : replica_check_row(s, a);
}

static int put_row(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    const float *values = e->length ? wire_values_const(e) : NULL;
    if (e->encoding == WIRE_AS_REPLICA) return row_promote_as_it_is(&s->mover, ref);
    return location_of(s, ref).is_replica ? row_promote(&s->mover, ref, values)
                                          : row_put(ref, values);
}

static void take_in(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    while (put_row(s, ref, e) == -ENOMEM) mover_make_room(&s->mover);
    s->records.state[ref.index].term = e->term;
    record_touched(&s->records, ref.index);
    if (s->saves) saves_came(s, ref, e->flags & WIRE_BEGIN ? s->rank : e->origin);
    shard_count(&s->counters.relocated_in, 1);
    shard_event(s, ref.index, e->origin, EVENT_CAME, WHY_NONE, e->term);
}

/* The frame that brought the entry was accepted before: if the entry turns out to be wrong, the
 * link of its peer fails with the next frame (shard_frame). */
static void serve_parked(struct shard *s, struct parked *p)
{
    bool is_sync = p->entry.operation == WIRE_SYNC;
    if (is_sync) p->entry.slack_us = 0; /* it has waited */
    const struct arrival a = {&p->entry, store_row_ref(s->store, p->entry.key), p->peer};
    const char *wrong = is_sync ? serve_sync(s, &a) : serve_request(s, &a);
    if (wrong) s->wrong[p->peer] = wrong;
    woken_consider(s);
}

/* Serves the entries that came before the row, in order. One of them may take the row away again;
 * then the others follow it. */
static void serve_all_parked(struct shard *s, struct record *r)
{
    struct parked *next = r->parked;
    r->parked = NULL;
    shard_wake(s, r, WOKEN_REPLICA);
    woken_consider(s);
    for (struct parked *p; (p = next);) {
        next = p->next;
        s->parked_bytes -= wire_entry_bytes(p->entry.length);
        histogram_add(&s->histograms.parked, s->now_ns - p->since_ns);
        serve_parked(s, p);
        free(p);
    }
}

void parked_serve_anew(struct shard *s, struct record *r)
{
    for (struct parked *p = r->parked; p; p = p->next) {
        p->entry.owner = UINT16_MAX;
        p->entry.term = 0;
    }
    serve_all_parked(s, r);
}

void parked_drop(struct shard *s, struct record *r)
{
    struct parked *p = r->parked, *last = NULL;
    r->parked = NULL;
    for (struct parked *next; p; p = next) {
        next = p->next;
        p->next = NULL;
        if (!s->losses->is_member[p->entry.origin]) {
            s->parked_bytes -= wire_entry_bytes(p->entry.length);
            free(p);
            continue;
        }
        if (last)
            last->next = p;
        else
            r->parked = p;
        last = p;
    }
    if (r->parked) r->parked->last = last;
}

/* ---- a node was lost ---- */

static __attribute__((cold)) const char *held(struct shard *s, const struct arrival *a)
{
    if (s->failure != SHARD_REPAIRS) return "a request that is held, and no node was lost";
    return a->entry->flags & WIRE_BEGIN ? replica_held(s, a->ref.index) : origin_held(s, a->entry);
}

/* A row that was given away before its giver knew of the loss has not been claimed. What is parked
 * stays so. */
static __attribute__((cold)) void arrived_in_repair(struct shard *s, const struct arrival *a)
{
    if (a->entry->term < loss_term(s->losses)) owner_claim(s, a->ref, 0);
}

static const char *arrive(struct shard *s, const struct arrival *a)
{
    uint8_t flags = a->entry->flags;
    const char *wrong = check_row(s, a);
    if (wrong) return wrong;
    take_in(s, a->ref, a->entry);
    struct record *r = record_find(&s->records, a->ref.index);
    if (r) replica_row_is_here(s, r, flags & WIRE_ANSWERS);
    if (flags & WIRE_LOCALIZED) origin_row_is_here(s, a);
    woken_consider(s);
    r = record_find(&s->records, a->ref.index);
    if (s->failure)
        arrived_in_repair(s, a);
    else if (r)
        serve_all_parked(s, r);
    return NULL;
}

/* Not everything before it was served. */
static __attribute__((cold)) const char *round_ends_in_repair(struct shard *s,
                                                              const struct arrival *a)
{
    s->losses->round[a->peer] = a->entry->round;
    return NULL;
}

/* ---- all ---- */

static const char *learn_locations(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    location_learn(s, a->ref, e->owner, e->term);
    for (uint64_t more = e->version; more; more &= more - 1) {
        uint64_t index = a->ref.index + 1 + (unsigned)__builtin_ctzll(more);
        if (index >= s->records.keys) return "a key that does not exist";
        location_learn(s, shard_row_ref(s, index), e->owner, e->term);
    }
    return NULL;
}

static const char *serve(struct shard *s, const struct arrival *a)
{
    switch ((enum wire_operation)a->entry->operation) {
    case WIRE_PULL:
    case WIRE_PUSH:
    case WIRE_SET:
    case WIRE_LOCALIZE: return serve_request(s, a);
    case WIRE_PULLED:
    case WIRE_PUSHED:
    case WIRE_WAS_SET:
    case WIRE_STAYS: return origin_answer(s, a);
    case WIRE_ROW: return arrive(s, a);
    case WIRE_LOCATION: return learn_locations(s, a);
    case WIRE_SYNC: return s->failure ? park_in_repair(s, a) : serve_sync(s, a);
    case WIRE_ANSWER: return replica_answer(s, a);
    case WIRE_REFRESH: return replica_refresh(s, a);
    case WIRE_RECALL: return replica_recall(s, a);
    case WIRE_ROUND: return s->failure ? round_ends_in_repair(s, a) : round_end(s, a);
    case WIRE_ROUND_DONE: return round_end(s, a);
    case WIRE_CLOCK_UPDATED:
    case WIRE_CLOCK_FRESH:
    case WIRE_CLOCK_AWAITED: return clocks_entry(s, a);
    case WIRE_REPAIR: return loss_marker(s, a);
    case WIRE_HELD: return held(s, a);
    case WIRE_OFFER: return loss_offered(s, a);
    case WIRE_SAVE: return saves_take(s, a);
    case WIRE_SAVED: return saves_heard(s, a);
    case WIRE_TOLD:
        return a->entry->flags & WIRE_BEGIN ? origin_told(s, a->entry) : once_hear(s, a);
    case WIRE_NONE:
    case WIRE_OPERATIONS: break;
    }
    return "an entry of no known operation";
}

const char *dispatch(struct shard *s, unsigned peer, struct wire_cursor *cursor)
{
    struct arrival arrived[FETCHED_AHEAD];
    const char *why = NULL;
    for (;;) {
        unsigned n = take_arrivals(s, peer, cursor, arrived, &why);
        for (unsigned i = 0; i < n; i++) {
            const char *wrong = serve(s, &arrived[i]);
            woken_consider(s);
            if (wrong) return wrong;
        }
        if (why || n < FETCHED_AHEAD) return why;
    }
}
