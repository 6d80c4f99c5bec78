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

static const char unheard_of[] = "an entry of what the cluster's technique does not know";

/* The row is not here: on to its owner, or it waits for the row. */
static const char *pass_on(struct shard *s, unsigned peer, const struct wire_entry *e,
                           struct location l)
{
    return l.owner == s->rank ? handover_park(s, peer, e) : location_forward(s, e, l);
}

/* ---- requests ---- */

static const char *check_request(const struct shard *s, unsigned peer, const struct wire_entry *e,
                                 struct row_ref ref)
{
    bool has_values = e->operation == WIRE_PUSH || e->operation == WIRE_SET;
    if (e->length != (has_values ? ref.partition->length : 0))
        return "a row of another length than its table's";
    if (e->origin >= s->nodes || e->owner >= s->nodes)
        return "a request of a node that does not exist";
    if (s->technique->moves) return e->origin == s->rank ? origin_check_own(s, e) : NULL;
    if (e->origin != peer) return "a request in the name of another node";
    return row_ref_is_home(ref) ? NULL : "a request for a row that is not here";
}

static const char *serve_request(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    struct row_ref ref = store_row_ref(s->store, e->key);
    const char *wrong = check_request(s, peer, e, ref);
    if (wrong) return wrong;
    if (s->technique->moves) location_learn(s, ref, e->owner, e->term);
    struct location l = location_of(s, ref);
    if (!l.is_here) return pass_on(s, peer, e, l);
    shard_count(&s->histograms.hops[e->hops < SHARD_HOPS ? e->hops : SHARD_HOPS - 1], 1);
    if (e->origin == s->rank)
        origin_came_back(s, e, ref);
    else
        owner_serve(s, e, ref);
    return NULL;
}

/* ---- intents and replicas ---- */

static const char *serve_sync(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    struct row_ref ref = store_row_ref(s->store, e->key);
    const char *wrong = owner_check(s, e, ref);
    if (wrong) return wrong;
    bool begins = e->flags & WIRE_BEGIN;
    location_learn(s, ref, e->owner, e->term);
    struct location l = location_of(s, ref);
    struct record *r = record_find(&s->records, ref.index);
    if (e->origin == s->rank && (!begins || !r || !r->in_flight)) return "an entry in our own name";
    if (!l.is_here)
        return begins ? pass_on(s, peer, e, l) : "an update of a replica whose row is not here";
    if (e->origin != s->rank) return owner_sync(s, e, ref);
    replica_came_back(s, r); /* the row has come here by another way */
    return NULL;
}

/* ---- a row arrives ---- */

static const char *check_row(const struct shard *s, const struct wire_entry *e)
{
    const char *wrong = handover_check(s, e);
    if (wrong) return wrong;
    return e->flags & WIRE_LOCALIZED ? origin_check_row(s, e) : replica_check_row(s, e);
}

/* The frame that brought the entry was accepted before: if the entry turns out to be wrong, the
 * link of its peer fails with the next frame (shard_frame). */
static void serve_parked(struct shard *s, struct parked *p)
{
    bool is_sync = p->entry.operation == WIRE_SYNC;
    if (is_sync) p->entry.slack_us = 0; /* it has waited */
    const char *wrong = is_sync ? serve_sync(s, p->peer, &p->entry)
                                : serve_request(s, p->peer, &p->entry);
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

static const char *arrive(struct shard *s, const struct wire_entry *e)
{
    struct row_ref ref = store_row_ref(s->store, e->key);
    const char *wrong = check_row(s, e);
    if (wrong) return wrong;
    handover_put(s, ref, e);
    struct record *r = record_find(&s->records, ref.index);
    if (r) replica_row_is_here(s, r, e->flags & WIRE_ANSWERS);
    if (e->flags & WIRE_LOCALIZED) origin_row_is_here(s, e);
    step(s);
    r = record_find(&s->records, ref.index);
    if (r) serve_all_parked(s, r);
    return NULL;
}

/* ---- all ---- */

static const char *serve(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    switch ((enum wire_operation)e->operation) {
    case WIRE_PULL:
    case WIRE_PUSH:
    case WIRE_SET:
    case WIRE_LOCALIZE: return serve_request(s, peer, e);
    case WIRE_PULLED:
    case WIRE_PUSHED:
    case WIRE_WAS_SET:
    case WIRE_STAYS: return origin_answer(s, peer, e);
    case WIRE_ROW: return s->technique->moves ? arrive(s, e) : unheard_of;
    case WIRE_LOCATION: return s->technique->moves ? location_news(s, e) : unheard_of;
    case WIRE_SYNC: return s->technique->moves ? serve_sync(s, peer, e) : unheard_of;
    case WIRE_ANSWER: return s->dirty ? replica_answer(s, e) : unheard_of;
    case WIRE_REFRESH: return s->dirty ? replica_refresh(s, peer, e) : unheard_of;
    case WIRE_RECALL: return s->dirty ? replica_recall(s, e) : unheard_of;
    case WIRE_ROUND:
    case WIRE_ROUND_DONE: return s->technique->moves ? round_end(s, peer, e) : unheard_of;
    case WIRE_CLOCK_UPDATED:
    case WIRE_CLOCK_FRESH:
    case WIRE_CLOCK_AWAITED: return clocks_entry(s, peer, e);
    case WIRE_OPERATIONS: break;
    }
    return "an entry of no known operation";
}

const char *dispatch(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    const char *wrong = serve(s, peer, e);
    step(s);
    return wrong;
}
