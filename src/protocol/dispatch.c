#include "protocol/dispatch.h"

#include "protocol/clocks.h"
#include "protocol/handover.h"
#include "protocol/location.h"
#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"
#include "protocol/round.h"
#include "protocol/step.h"

#include <stdlib.h>

/* The row is not here: on to its owner, or it waits for the row. */
static const char *pass_on(struct shard *s, const struct arrival *a, struct location l)
{
    return l.owner == s->rank ? handover_park(s, a) : location_forward(s, a->entry, l);
}

/* ---- requests ---- */

static const char *serve_request(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (s->technique->moves) {
        const char *wrong = e->origin == s->rank ? origin_check_own(s, e) : NULL;
        if (wrong) return wrong;
        location_learn(s, a->ref, e->owner, e->term);
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
    const char *wrong = handover_check(s, a);
    if (wrong) return wrong;
    return a->entry->flags & WIRE_LOCALIZED ? origin_check_row(s, a->entry)
                                            : replica_check_row(s, a);
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
    step(s);
}

/* Serves the entries that came before the row, in order. One of them may take the row away again;
 * then the others follow it. */
static void serve_all_parked(struct shard *s, struct record *r)
{
    struct parked *next = handover_unpark(s, r);
    shard_wake(s, r, WOKEN_REPLICA);
    step(s);
    for (struct parked *p; (p = next);) {
        next = p->next;
        serve_parked(s, p);
        free(p);
    }
}

static const char *arrive(struct shard *s, const struct arrival *a)
{
    uint8_t flags = a->entry->flags;
    const char *wrong = check_row(s, a);
    if (wrong) return wrong;
    handover_put(s, a->ref, a->entry);
    struct record *r = record_find(&s->records, a->ref.index);
    if (r) replica_row_is_here(s, r, flags & WIRE_ANSWERS);
    if (flags & WIRE_LOCALIZED) origin_row_is_here(s, a);
    step(s);
    r = record_find(&s->records, a->ref.index);
    if (r) serve_all_parked(s, r);
    return NULL;
}

/* ---- all ---- */

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
    case WIRE_LOCATION: return location_news(s, a);
    case WIRE_SYNC: return serve_sync(s, a);
    case WIRE_ANSWER: return replica_answer(s, a);
    case WIRE_REFRESH: return replica_refresh(s, a);
    case WIRE_RECALL: return replica_recall(s, a);
    case WIRE_ROUND:
    case WIRE_ROUND_DONE: return round_end(s, a);
    case WIRE_CLOCK_UPDATED:
    case WIRE_CLOCK_FRESH:
    case WIRE_CLOCK_AWAITED: return clocks_entry(s, a);
    case WIRE_NONE:
    case WIRE_OPERATIONS: break;
    }
    return "an entry of no known operation";
}

const char *dispatch(struct shard *s, const struct arrival *a)
{
    const char *wrong = serve(s, a);
    step(s);
    return wrong;
}
