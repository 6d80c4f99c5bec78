/* Replicas, and main copies that have them. */
#include "store/row_private.h"

#include "base/error.h"

#include <errno.h>

/* Of a row that is here: the word, latched. */
static directory_word latch(struct row_ref s)
{
    directory_word w = latch_here(s);
    INVARIANT(directory_is_latched(w), "a row that must be here is not");
    return w & ~DIRECTORY_LATCH;
}

/* The same, or the held word of one of which workers keep their copies meanwhile. */
static directory_word hold(struct row_ref s)
{
    directory_word w = latch_beside(s);
    INVARIANT(directory_is_latched(w), "a row that must be here is not");
    return w & ~DIRECTORY_LATCH;
}

void row_read_version(struct row_ref s, float *values, directory_word *w)
{
    for (int i = 0; i < READ_ATTEMPTS; i++) {
        *w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (!directory_is_readable(*w)) {
            if (directory_has_copies(*w)) break;
            cpu_relax();
            continue;
        }
        floats_copy(values, slot_row(s.partition, *w), s.partition->stored);
        LOCUS_YIELD();
        if (directory_is_unchanged(row_ref_word(s), *w)) return;
    }
    *w = hold(s);
    if (directory_has_row(*w))
        floats_copy(values, slot_row(s.partition, *w), s.partition->stored);
    else
        floats_zero(values, s.partition->stored);
    unlatch(s, *w);
}

directory_word row_word(struct row_ref s)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        if (!directory_is_latched(w) || directory_has_copies(w)) return w & ~DIRECTORY_LATCH;
        LOCUS_YIELD();
        spin_wait(&spins);
    }
}

void row_track(struct row_ref s)
{
    directory_word w = hold(s);
    bool has_row = directory_has_row(w);
    uint64_t slot = has_row ? directory_slot(w) : s.partition->zero_slot,
             version = has_row ? directory_version(w) : 1;
    unlatch(s, directory_held(DIRECTORY_TRACKED, slot, version) | (w & DIRECTORY_HAS_COPIES));
    row_ref_touched(s);
}

void row_untrack(struct row_ref s)
{
    directory_word w = hold(s);
    if (partition_is_zeros(s.partition, w))
        directory_publish(row_ref_word(s), directory_empty());
    else
        unlatch(s, s.partition->tracks_all
                       ? w
                       : main_word(s.partition, directory_slot(w), directory_version(w)) |
                             (w & DIRECTORY_HAS_COPIES));
}

void row_clean(struct row_ref s)
{
    directory_word w = directory_load(row_ref_word(s));
    if (!(w & (DIRECTORY_DIRTY | DIRECTORY_LATCH))) return;
    w = hold(s);
    unlatch(s, w & ~DIRECTORY_DIRTY);
}

int row_replicate(struct row_ref s, const float *values)
{
    uint64_t slot = values ? take_pair(s) : s.partition->zero_slot;
    if (slot == SLAB_NONE) return -ENOMEM;
    LOCUS_YIELD();
    if (values) fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    publish_moved(s, directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    return 0;
}

int row_ensure_replica(struct row_ref s)
{
    if (row_word_is_written(s, row_word(s))) return 0;
    uint64_t slot = take_pair(s);
    if (slot == SLAB_NONE) return -ENOMEM;
    directory_word w = latch(s);
    if (row_word_is_written(s, w)) { /* a worker was faster */
        unlatch(s, w);
        slab_give(&s.partition->pairs, (slot - s.partition->first_pair) / 2);
        return 0;
    }
    zero_slot(s.partition, slot);
    directory_publish(row_ref_word(s),
                      directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    return 0;
}

/* Latched: a row of its own gets what the owner of the replica does not know. */
static void merge_updates(struct row_ref s, float *row, directory_word w)
{
    const struct partition *p = s.partition;
    if (!(w & DIRECTORY_DIRTY)) return;
    fold_at(p, row, slot_row(p, w), unsent_row(p, w), NULL, false, draw_of(s, w));
}

/* The same where the replica is; the row it was before the first change is the new one, too. */
static void refresh_dirty(struct row_ref s, directory_word w, const float *values)
{
    const struct partition *p = s.partition;
    const struct optimizer *o = p->optimizer;
    float *row = slot_row(p, w), *unsent = unsent_row(p, w);
    if (o) {
        o->element->refresh(o, row, values, unsent, draw_of(s, w));
        return;
    }
    p->gain(unsent, unsent, row, p->length, false);
    floats_copy(row, values, p->length);
    LOCUS_YIELD();
    p->add(row, unsent, p->length);
    floats_copy(unsent, values, p->length);
}

void row_refresh(struct row_ref s, const float *values)
{
    directory_word w = hold(s);
    LOCUS_YIELD();
    if (w & DIRECTORY_DIRTY)
        refresh_dirty(s, w, values);
    else
        floats_copy(slot_row(s.partition, w), values, s.partition->stored);
    LOCUS_YIELD();
    unlatch(s, w + DIRECTORY_VERSION_ONE);
}

/* Latched: the updates go out, and it is clean. */
static uint32_t take_updates(struct row_ref s, directory_word w, float *updates)
{
    const struct partition *p = s.partition;
    const struct optimizer *o = p->optimizer;
    uint32_t floats = updates ? p->delta : 0;
    if (updates && !(w & DIRECTORY_DIRTY))
        floats_zero(updates, floats);
    else if (updates && o)
        floats = o->element->collect(o, slot_row(p, w), unsent_row(p, w), updates);
    else if (updates)
        p->gain(updates, unsent_row(p, w), slot_row(p, w), p->length, false);
    LOCUS_YIELD();
    return floats;
}

uint32_t row_collect(struct row_ref s, float *updates)
{
    directory_word w = hold(s);
    LOCUS_YIELD();
    uint32_t floats = take_updates(s, w, updates);
    unlatch(s, w & ~DIRECTORY_DIRTY);
    return floats;
}

bool row_forget_clean(struct mover *m, struct row_ref s, directory_word next)
{
    directory_word w = directory_load(row_ref_word(s));
    LOCUS_YIELD();
    if (directory_has_copies(w)) copies_end(s);
    if (w & (DIRECTORY_LATCH | DIRECTORY_DIRTY)) return false;
    if (!try_move(s, w, next)) return false;
    if (directory_has_row(w)) mover_free(m, s.partition, directory_slot(w));
    return true;
}

uint32_t row_forget(struct mover *m, struct row_ref s, float *updates, directory_word next)
{
    directory_word w = latch(s);
    LOCUS_YIELD();
    uint32_t floats = take_updates(s, w, updates);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), next);
    row_ref_moved(s);
    mover_free(m, s.partition, directory_slot(w));
    return floats;
}

/* Latched: the slot has the row. */
static void promote(struct mover *m, struct row_ref s, directory_word w, uint64_t slot)
{
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), main_word(s.partition, slot, fresh_version(s.partition)));
    mover_free(m, s.partition, directory_slot(w));
}

/* A replica of zeros becomes a row of zeros: false, when it is none, or was written just now. */
static bool promote_zeros(struct row_ref s)
{
    directory_word w = row_word(s);
    if (!partition_is_zeros(s.partition, w)) return false;
    w = latch(s);
    if (partition_is_zeros(s.partition, w)) {
        directory_publish(row_ref_word(s), directory_empty());
        return true;
    }
    unlatch(s, w);
    return false;
}

int row_promote(struct mover *m, struct row_ref s, const float *values)
{
    if (!values && promote_zeros(s)) return 0;
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    float *row = partition_row(s.partition, slot);
    directory_word w = latch(s);
    LOCUS_YIELD();
    if (values)
        fill_slot(s.partition, slot, values);
    else
        floats_zero(row, s.partition->stored);
    LOCUS_YIELD();
    merge_updates(s, row, w);
    promote(m, s, w, slot);
    return 0;
}

int row_promote_as_it_is(struct mover *m, struct row_ref s)
{
    if (promote_zeros(s)) return 0;
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    directory_word w = latch(s);
    LOCUS_YIELD();
    fill_slot(s.partition, slot, slot_row(s.partition, w));
    promote(m, s, w, slot);
    return 0;
}
