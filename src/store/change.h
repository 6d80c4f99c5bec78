/*
 * change.h - a change of a latched row: of its values, of what others must be told, of its word.
 *
 * Callers, memory, waiting, life: as row.h
 */
#ifndef LOCUS_STORE_CHANGE_H
#define LOCUS_STORE_CHANGE_H

#include "base/sync.h"
#include "store/store.h"

static inline float *slot_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w));
}

/* What the owner does not know of a dirty replica: the row as it was before the first change since
 * it was last told; with an optimizer, the delta of the steps. */
static inline float *unsent_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w) + 1);
}

/* One write of a row. */
struct write {
    enum row_change change;
    const float *values;
    struct row_step step; /* of ROW_ADD, if there is an optimizer */
};

/* How the next change of a row with this version rounds, if it does. */
static inline uint64_t draw_at(struct row_ref s, uint64_t version)
{
    struct draws *d = s.partition->draws;
    if (!d) return 0;
    uint64_t number = __atomic_load_n(&d->number, __ATOMIC_RELAXED);
    if (!s.partition->has_one_writer)
        number += version;
    else if (!d->stays)
        __atomic_store_n(&d->number, number + 1, __ATOMIC_RELAXED);
    return bf16_draw(s.partition->place + s.index, number);
}

/* w: its word. */
static inline uint64_t draw_of(struct row_ref s, directory_word w)
{
    return draw_at(s, directory_version(w));
}

/* Latched. `unsent`: of a replica or a worker's copy, else NULL; the first change since the others
 * were told finds there whatever was there. `draw`: how it rounds. */
static inline void write_at(const struct partition *p, float *row, const struct write *write,
                            float *unsent, bool is_first, uint64_t draw)
{
    const struct optimizer *o = p->optimizer;
    if (o) {
        o->element->change(o, row, write->change, write->values, write->step, unsent, is_first,
                           draw);
        return;
    }
    if (unsent && is_first) floats_copy(unsent, row, p->length);
    LOCUS_YIELD();
    if (row_change_sets(write->change))
        floats_copy(row, write->values, p->length);
    else
        p->add(row, write->values, p->length);
}

/* The same by what another copy of the row has not sent. */
static inline void fold_at(const struct partition *p, float *row, const float *other,
                           const float *other_unsent, float *unsent, bool is_first, uint64_t draw)
{
    const struct optimizer *o = p->optimizer;
    if (o) {
        o->element->fold(o, row, other, other_unsent, unsent, is_first, draw);
        return;
    }
    if (unsent && is_first) floats_copy(unsent, row, p->length);
    p->gain(row, other_unsent, other, p->length, true);
}

static inline void unlatch(struct row_ref s, directory_word w)
{
    directory_publish(row_ref_word(s),
                      w & DIRECTORY_HAS_COPIES ? w | DIRECTORY_LATCH : w & ~DIRECTORY_LATCH);
}

/* The word of a row that has changed. */
static inline directory_word changed(directory_word w)
{
    directory_word dirty = directory_state(w) == DIRECTORY_MAIN ? 0 : DIRECTORY_DIRTY;
    return (w + DIRECTORY_VERSION_ONE) | dirty;
}

/* A row with this word changes: the first change since the shard last looked adds the key to the
 * dirty set. Before the word says so: who sees that it is dirty need not add it. The shard waits
 * for the word (row_is_dirty). */
static inline void add_if_clean(struct row_ref s, directory_word w)
{
    if (directory_state(w) != DIRECTORY_MAIN && !(w & DIRECTORY_DIRTY))
        dirty_set_add(s.partition->dirty, s.index);
}

#endif
