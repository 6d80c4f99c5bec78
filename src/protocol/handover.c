#include "protocol/handover.h"

#include "protocol/origin.h"
#include "protocol/replica.h"
#include "protocol/location.h"
#include "protocol/owner.h"
#include "protocol/round.h"

#include "store/yield.h"

#include <errno.h>
#include <stdlib.h>

static struct wire_entry *row_entry(struct shard *s, const struct wire_entry *request, uint64_t epoch, uint32_t length)
{
    unsigned to = request->origin;
    struct wire_entry *e = s->port->entry(s->port->context, to, length, 0);
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
static void take_into_frame(struct shard *s, struct spot spot, const struct wire_entry *request, uint64_t epoch,
                            directory_word next)
{
    unsigned spins = 0;
    while (!directory_has_row(directory_load(spot_word(spot)))) {
        if (!row_take_empty(spot, next)) { /* somebody writes it for the first time just now */
            spin_wait(&spins);
            continue;
        }
        row_entry(s, request, epoch, 0);
        return;
    }
    bool written;
    struct wire_entry *e = row_entry(s, request, epoch, spot.part->length);
    /* Without a link the row is lost, as is the cluster; but no worker may find it here any more. */
    row_take(&s->mover, spot, e ? wire_values(e) : NULL, &written, next);
}

/* The holder's replica is the row, if nobody here has written to it since. */
static bool leave_to_holder(struct shard *s, struct spot spot, const struct wire_entry *request, uint64_t epoch,
                            directory_word then, directory_word next)
{
    if (!row_take_unchanged(&s->mover, spot, then, next)) return false;
    struct wire_entry *e = row_entry(s, request, epoch, 0);
    if (!e) return true;
    e->flags |= WIRE_HOLDER;
    e->version = request->version;
    return true;
}

void relocation_give(struct shard *s, struct spot spot, const struct wire_entry *request, const directory_word *then)
{
    struct standing *standing = &s->records.standing[spot.index];
    uint64_t epoch = standing->epoch + 1;
    standing->epoch = 0;
    directory_word next = directory_elsewhere(request->origin, epoch);
    if (!then || !leave_to_holder(s, spot, request, epoch, *then, next)) take_into_frame(s, spot, request, epoch, next);
    if (request->operation == WIRE_ENTRY) rounds_answered(s, request->origin); /* which may hold an older replica */
    shard_count(&s->counters.relocated_out, 1);
    location_announce(s, spot, request);
    struct record *r = standing->wanted ? record_get(&s->records, spot.index) : record_find(&s->records, spot.index);
    if (!r) return; /* nor does anybody here want it back */
    r->holders = 0; /* the new owner was the only one, if any */
    r->version = 0;
    entries_settle(s, r);
}

static int put_row(struct shard *s, struct spot spot, const struct wire_entry *e)
{
    const float *values = e->length ? wire_values_const(e) : NULL;
    if (e->flags & WIRE_HOLDER) return row_promote_as_it_is(&s->mover, spot);
    return location_of(s, spot).is_replica ? row_promote(&s->mover, spot, values) : row_put(spot, values);
}

static void put(struct shard *s, struct spot spot, const struct wire_entry *e)
{
    while (put_row(s, spot, e) == -ENOMEM) mover_wait(&s->mover);
    s->records.standing[spot.index].epoch = e->epoch;
    shard_count(&s->counters.relocated_in, 1);
}

/* Those who came before the row, in order. One of them may take it away again; then the others follow it. */
static void serve_parked(struct shard *s, struct record *r)
{
    struct parked *next = r->parked_first;
    r->parked_first = r->parked_last = NULL;
    entries_settle(s, r);
    for (struct parked *p; (p = next);) {
        next = p->next;
        s->parked_bytes -= wire_entry_bytes(p->entry.length);
        histogram_add(&s->histograms.parked, s->now_ns - p->since_ns);
        if (p->entry.operation == WIRE_ENTRY) {
            p->entry.tag = 0; /* it has waited */
            owner_entry(s, p->peer, &p->entry);
        } else {
            access_serve(s, p->peer, &p->entry);
        }
        free(p);
    }
}

const char *relocation_arrive(struct shard *s, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    struct location known = location_of(s, spot);
    if (e->length != 0 && e->length != spot.part->length) return "a row of another length than its table's";
    if (e->owner != s->rank) return "a row for another node";
    if (known.is_here) return "a row that is here already";
    if (e->epoch < known.epoch || (e->epoch == known.epoch && known.owner != s->rank))
        return "a row whose ownership has passed on";
    if (e->epoch == 0 || e->epoch >> DIRECTORY_EPOCH_BITS) return "a row of no possible epoch";
    const char *wrong = e->flags & WIRE_LOCALIZED ? access_check_row(s, e) : entries_check_row(s, e);
    if (wrong) return wrong;
    put(s, spot, e);
    struct record *r = record_find(&s->records, spot.index);
    if (r) entries_row_is_here(s, r, e->flags & WIRE_ANSWERS);
    if (e->flags & WIRE_LOCALIZED) access_row_is_here(s, e);
    r = record_find(&s->records, spot.index);
    if (r) serve_parked(s, r);
    return NULL;
}
