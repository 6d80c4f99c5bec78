#include "protocol/shard.h"

#include "intents/intents.h"

#include <errno.h>

void shard_note_intent(const struct shard *s, const struct intent_event *e,
                       enum key_event_kind kind, unsigned node)
{
    events_note(s->events,
                &(struct key_event){.ns = s->now_ns,
                                    .index = e->index,
                                    .start = e->start,
                                    .end = e->kind == INTENT_KEEPS ? LOCUS_FOREVER : e->end,
                                    .node = (uint16_t)node,
                                    .kind = (uint8_t)kind});
}

void location_learn(struct shard *s, struct row_ref ref, unsigned owner, uint64_t term)
{
    struct location known = location_of(s, ref);
    /* Only the shard's thread moves rows, so it may change a word that says elsewhere. */
    if (known.is_here || term <= known.term || term >> DIRECTORY_TERM_BITS) return;
    if (known.is_replica) {
        struct record *r = record_find(&s->records, ref.index);
        if (!r || ref.partition->is_full) return;
        r->owner = (uint16_t)owner;
        r->term = term;
        return;
    }
    directory_publish(row_ref_word(ref), directory_elsewhere(owner, term));
    row_ref_touched(ref);
}

void shard_complete(struct shard *s, struct request *r)
{
    *shard_active(s, r->worker, r->number) = NULL;
    s->platform->complete(s->platform->context, r, s->failure);
}

void shard_wake(struct shard *s, struct record *r, unsigned roles)
{
    bool is_woken = r->woken != 0;
    r->woken |= roles & 7u;
    if (is_woken) return;
    r->woken_next = 0;
    if (s->woken_first)
        record_at(&s->records, s->woken_last)->woken_next = r->number;
    else
        s->woken_first = r->number;
    s->woken_last = r->number;
}

static void check_held(int rc)
{
    INVARIANT(rc >= 0 || rc == -ENOMEM, "a row that is here was not found");
}

void shard_read(struct row_ref ref, float *values, unsigned form)
{
    check_held(form ? row_read_as(ref, values, form) : row_read(ref, values));
}

void shard_write(struct shard *s, struct row_ref ref, const float *values, enum row_change change)
{
    for (int rc; (rc = row_write(ref, values, change)) < 0; mover_make_room(&s->mover))
        check_held(rc);
}

void shard_step(struct shard *s, struct row_ref ref, const float *gradient, struct row_step step)
{
    for (int rc; (rc = row_step(ref, gradient, step)) < 0; mover_make_room(&s->mover))
        check_held(rc);
}

void shard_push(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    if (ref.partition->optimizer)
        shard_step(s, ref, wire_values_const(e), (struct row_step){e->rate, e->size});
    else
        shard_write(s, ref, wire_values_const(e), ROW_ADD);
}
