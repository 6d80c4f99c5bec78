#include "protocol/handover.h"

#include "base/error.h"
#include "protocol/backlog.h"
#include "protocol/location.h"

#include "store/yield.h"

#include <errno.h>
#include <stdlib.h>

/* ---- rows that leave ---- */

static struct wire_entry *row_entry(struct shard *s, const struct wire_entry *request,
                                    uint64_t epoch, uint32_t length)
{
    unsigned to = request->origin;
    struct wire_entry *e = s->platform->entry(s->platform->context, to, length, 0);
    if (!e) return NULL;
    e->operation = WIRE_ROW;
    e->owner = (uint16_t)to;
    e->origin = (uint16_t)s->rank;
    e->flags = request->operation == WIRE_LOCALIZE ? WIRE_LOCALIZED : WIRE_ANSWERS;
    e->length = length;
    if (request->operation == WIRE_LOCALIZE) e->tag = request->tag;
    e->key = request->key;
    e->epoch = epoch;
    return e;
}

/* The space in the frame comes before the latch: getting it may take long. */
static void take_into_frame(struct shard *s, struct spot spot, const struct wire_entry *request,
                            uint64_t epoch, directory_word next)
{
    unsigned spins = 0;
    while (!row_word_is_written(spot, directory_load(spot_word(spot)))) {
        if (!row_take_empty(spot, next)) { /* somebody writes it for the first time just now */
            spin_wait(&spins);
            continue;
        }
        row_entry(s, request, epoch, 0);
        return;
    }
    bool written;
    struct wire_entry *e = row_entry(s, request, epoch, spot.part->length);
    /* Without a link the row is lost, as is the cluster; but no worker may find it here any
     * more. */
    row_take(&s->mover, spot, e ? wire_values(e) : NULL, &written, next);
}

/* The holder's replica is the row, if nobody here has written to it since. */
static bool leave_to_holder(struct shard *s, struct spot spot, const struct wire_entry *request,
                            uint64_t epoch, directory_word then, directory_word next)
{
    if (!row_take_unchanged(&s->mover, spot, then, next)) return false;
    struct wire_entry *e = row_entry(s, request, epoch, 0);
    if (!e) return true;
    e->flags |= WIRE_HOLDER;
    e->version = request->version;
    return true;
}

void handover_give(struct shard *s, struct spot spot, const struct wire_entry *request,
                   const directory_word *then)
{
    struct standing *standing = &s->records.standing[spot.index];
    uint64_t epoch = standing->epoch + 1;
    standing->epoch = 0;
    directory_word next = directory_elsewhere(request->origin, epoch);
    if (!then || !leave_to_holder(s, spot, request, epoch, *then, next))
        take_into_frame(s, spot, request, epoch, next);
    /* which may hold an older replica */
    if (request->operation == WIRE_ENTRY) backlog_owes(s, request->origin);
    shard_count(&s->counters.relocated_out, 1);
    location_announce(s, spot, request);
    struct record *r = standing->wanted ? record_get(&s->records, spot.index)
                                        : record_find(&s->records, spot.index);
    if (!r) return; /* nor does anybody here want it back */
    r->holders = 0; /* the new owner was the only one, if any */
    r->version = 0;
    shard_wake(s, r, WOKEN_REPLICA);
}

/* ---- rows that arrive ---- */

const char *handover_check(const struct shard *s, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    struct location known = location_of(s, spot);
    if (e->length != 0 && e->length != spot.part->length)
        return "a row of another length than its table's";
    if (e->owner != s->rank) return "a row for another node";
    if (known.is_here) return "a row that is here already";
    if (e->epoch < known.epoch || (e->epoch == known.epoch && known.owner != s->rank))
        return "a row whose ownership has passed on";
    if (e->epoch == 0 || e->epoch >> DIRECTORY_EPOCH_BITS) return "a row of no possible epoch";
    return NULL;
}

static int put_row(struct shard *s, struct spot spot, const struct wire_entry *e)
{
    const float *values = e->length ? wire_values_const(e) : NULL;
    if (e->flags & WIRE_HOLDER) return row_promote_as_it_is(&s->mover, spot);
    return location_of(s, spot).is_replica ? row_promote(&s->mover, spot, values)
                                           : row_put(spot, values);
}

void handover_put(struct shard *s, struct spot spot, const struct wire_entry *e)
{
    while (put_row(s, spot, e) == -ENOMEM) mover_wait(&s->mover);
    s->records.standing[spot.index].epoch = e->epoch;
    shard_count(&s->counters.relocated_in, 1);
}

/* ---- who comes before the row ---- */

/* What all nodes have under way at most, in all their windows; a single entry may be larger than
 * one. */
static size_t parked_max(const struct shard *s)
{
    size_t entry = shard_entry_bytes_max(s->store);
    return (size_t)s->nodes * s->nodes * (s->window_bytes > entry ? s->window_bytes : entry);
}

const char *handover_park(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    if (s->parked_bytes + wire_entry_bytes(e->length) > parked_max(s))
        return "more requests for rows on their way than the windows of all nodes hold";
    struct record *r = record_get(&s->records, keyspace_index(&s->store->keyspace, e->key));
    size_t bytes = wire_entry_bytes(e->length);
    struct parked *p = malloc(offsetof(struct parked, entry) + bytes);
    INVARIANT(p != NULL, "no memory to park a request");
    p->next = NULL;
    p->since_ns = s->now_ns;
    p->peer = peer;
    memcpy(&p->entry, e, bytes);
    if (r->parked)
        r->parked->last->next = p;
    else
        r->parked = p;
    r->parked->last = p;
    s->parked_bytes += bytes;
    return NULL;
}

struct parked *handover_unpark(struct shard *s, struct record *r)
{
    struct parked *first = r->parked;
    r->parked = NULL;
    for (const struct parked *p = first; p; p = p->next) {
        s->parked_bytes -= wire_entry_bytes(p->entry.length);
        histogram_add(&s->histograms.parked, s->now_ns - p->since_ns);
    }
    return first;
}
