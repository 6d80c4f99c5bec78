#include "protocol/handover.h"

#include "base/error.h"
#include "protocol/backlog.h"
#include "protocol/location.h"

#include "base/sync.h"

#include <errno.h>
#include <stdlib.h>

/* ---- rows that leave ---- */

static struct wire_entry *row_entry(const struct shard *s, const struct wire_entry *request,
                                    uint64_t term, uint32_t length)
{
    bool is_localized = request->operation == WIRE_LOCALIZE;
    return shard_entry(s, request->origin,
                       (struct wire_entry){.operation = WIRE_ROW,
                                           .owner = request->origin,
                                           .origin = (uint16_t)s->rank,
                                           .flags = is_localized ? WIRE_LOCALIZED : WIRE_ANSWERS,
                                           .length = length,
                                           .tag = is_localized ? request->tag : 0,
                                           .key = request->key,
                                           .term = term},
                       0);
}

/* The space in the frame comes before the latch: getting it may take long. */
static void take_into_frame(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                            uint64_t term, directory_word next)
{
    unsigned spins = 0;
    while (!row_word_is_written(ref, directory_load(row_ref_word(ref)))) {
        if (!row_take_empty(ref, next)) { /* a first write has come in between */
            spin_wait(&spins);
            continue;
        }
        row_entry(s, request, term, 0);
        return;
    }
    bool written;
    struct wire_entry *e = row_entry(s, request, term, ref.partition->stored);
    /* Without a link the row is lost, and so is the cluster; but no worker may find the row here
     * any more. */
    row_take(&s->mover, ref, e ? wire_values(e) : NULL, &written, next);
}

/* The holder's replica is the row, if nobody here has written to it since. */
static bool leave_to_holder(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                            uint64_t term, directory_word then, directory_word next)
{
    if (!row_take_unchanged(&s->mover, ref, then, next)) return false;
    struct wire_entry *e = row_entry(s, request, term, 0);
    if (!e) return true;
    e->encoding = WIRE_AS_REPLICA;
    e->version = request->version;
    return true;
}

void handover_give(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                   const directory_word *then)
{
    struct key_state *state = &s->records.state[ref.index];
    uint64_t term = state->term + 1;
    state->term = 0;
    directory_word next = directory_elsewhere(request->origin, term);
    if (!then || !leave_to_holder(s, ref, request, term, *then, next))
        take_into_frame(s, ref, request, term, next);
    /* which may hold an older replica */
    if (request->operation == WIRE_SYNC) backlog_owes(s, request->origin);
    shard_count(&s->counters.relocated_out, 1);
    location_announce(s, ref, request);
    struct record *r = state->wanted ? record_get(&s->records, ref.index)
                                     : record_find(&s->records, ref.index);
    if (!r) return; /* nor does anybody here want it back */
    r->holders = 0; /* the new owner was the only one, if any */
    r->version = 0;
    shard_wake(s, r, WOKEN_REPLICA);
}

/* ---- rows that arrive ---- */

const char *handover_check(const struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct location known = location_of(s, a->ref);
    if (known.is_here) return "a row that is here already";
    if (e->term < known.term || (e->term == known.term && known.owner != s->rank))
        return "a row whose ownership has passed on";
    if (e->term == 0 || e->term >> DIRECTORY_TERM_BITS) return "a row of no possible term";
    return NULL;
}

static int put_row(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    const float *values = e->length ? wire_values_const(e) : NULL;
    if (e->encoding == WIRE_AS_REPLICA) return row_promote_as_it_is(&s->mover, ref);
    return location_of(s, ref).is_replica ? row_promote(&s->mover, ref, values)
                                          : row_put(ref, values);
}

void handover_put(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    while (put_row(s, ref, e) == -ENOMEM) mover_make_room(&s->mover);
    s->records.state[ref.index].term = e->term;
    record_touched(&s->records, ref.index);
    shard_count(&s->counters.relocated_in, 1);
    shard_event(s, ref.index, e->origin, EVENT_CAME, WHY_NONE, e->term);
}

/* ---- who comes before the row ---- */

/* All nodes together can have this much under way, by their credit; a single entry may be larger.
 * Of many nodes that is more than there is. */
static size_t parked_max(const struct shard *s)
{
    size_t entry = shard_entry_bytes_max(s->store),
           credit = s->credit_bytes > entry ? s->credit_bytes : entry,
           all = (size_t)s->nodes * s->nodes * credit;
    return all < s->memory_max ? all : s->memory_max;
}

const char *handover_park(struct shard *s, const struct arrival *a)
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
