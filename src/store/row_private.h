/*
 * row_private.h - what row.c and row_replica.c share.
 *
 * Callers, memory, waiting, life: as row.h
 */
#ifndef LOCUS_STORE_ROW_PRIVATE_H
#define LOCUS_STORE_ROW_PRIVATE_H

#include "base/yield.h"
#include "store/row.h"

/* A copy that a writer disturbs this often in a row is made under the latch. */
enum { READ_ATTEMPTS = 4 };

static inline float *slot_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w));
}

/* The slot that is reserved for the key here. */
static inline uint64_t own_slot(struct row_ref s)
{
    return row_ref_is_home(s) ? row_ref_usual_slot(s) : SLAB_NONE;
}

/* Returns the word, latched by us; or, unlatched, a word that says that the row is not here; or,
 * for a worker that can have a copy, one that says that the row has copies. Waits for the holder of
 * the latch. */
static inline directory_word latch_or_copied(struct row_ref s, const struct copies *mine)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (directory_is_copied(w)) {
            if (mine) return w;
            copies_end(s);
            continue;
        }
        if (directory_is_latched(w)) {
            directory_want(row_ref_word(s), w);
            spin_wait(&spins);
            continue;
        }
        if (!row_ref_is_held(s, w)) return w;
        if (directory_try_latch(row_ref_word(s), w)) return w | DIRECTORY_LATCH;
    }
}

static inline directory_word latch_here(struct row_ref s)
{
    return latch_or_copied(s, NULL);
}

static inline void fill_slot(struct partition *p, uint64_t slot, const float *values)
{
    /* Release: the slot's previous row changed its word before we write. Pairs with the fence in
     * directory_is_unchanged(): a late reader of that row that copies what is written here finds
     * the word changed. */
    FENCE(__ATOMIC_RELEASE);
    floats_copy(partition_row(p, slot), values, p->stored);
}

static inline void zero_slot(struct partition *p, uint64_t slot)
{
    FENCE(__ATOMIC_RELEASE); /* as in fill_slot() */
    floats_zero(partition_row(p, slot), p->stored);
}

static inline void unlatch(struct row_ref s, directory_word w)
{
    directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);
}

/* Takes two slots for a replica and returns the copy's. A key whose home is here has no computed
 * slots for a replica. */
static inline uint64_t take_pair(struct row_ref s)
{
    uint64_t elsewhere, slot = home_slot(s.partition->home, row_ref_number(s), &elsewhere);
    uint64_t pair =
        slab_take(&s.partition->pairs, elsewhere && s.partition->foresees ? slot / 2 : SLAB_NONE);
    return pair == SLAB_NONE ? SLAB_NONE : s.partition->first_pair + 2 * pair;
}

/* What the owner does not know of a dirty replica: the row as it was before the first change since
 * it was last told; with an optimizer, the record of the steps. */
static inline float *unsaid_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w) + 1);
}

/* Each time a row arrives, its version begins far from the last one: a reader that began before the
 * row left and ends now must not find the same word again. */
static inline uint64_t fresh_version(struct partition *p)
{
    return __atomic_add_fetch(&p->arrivals, 1, __ATOMIC_RELAXED) * UINT64_C(0x9E3779B1);
}

/* The word of a main copy that no other node has a copy of (store.h). */
static inline directory_word main_word(const struct partition *p, uint64_t slot, uint64_t version)
{
    return p->optimizer ? directory_held(DIRECTORY_SHARED, slot, version) | DIRECTORY_DIRTY
                        : directory_main(slot, version);
}

/* One write of a row. */
struct write {
    enum row_change change;
    const float *values;
    struct row_step step; /* of ROW_ADD, if there is an optimizer */
};

/* How the next change of a row rounds. w: its word. */
static inline uint64_t draw_of(struct row_ref s, directory_word w)
{
    return bf16_draw(s.partition->place + s.index, directory_version(w));
}

/* Latched; w: the row's word. `unsaid`: of a replica or a worker's copy, else NULL; the first
 * change since the others were told finds there whatever was there. */
static inline void write_at(struct row_ref s, directory_word w, float *row,
                            const struct write *write, float *unsaid, bool is_first)
{
    const struct partition *p = s.partition;
    if (p->optimizer) {
        optimizer_change(p->optimizer, row, p->length, write->change, write->values, write->step,
                         unsaid, is_first, draw_of(s, w));
        return;
    }
    if (unsaid && is_first) floats_copy(unsaid, row, p->length);
    LOCUS_YIELD();
    if (row_change_sets(write->change))
        floats_copy(row, write->values, p->length);
    else
        p->add(row, write->values, p->length);
}

#endif
