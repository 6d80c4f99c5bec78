/*
 * row_private.h - what row.c and row_replica.c share.
 *
 * Callers, memory, waiting, life: as row.h
 */
#ifndef LOCUS_STORE_ROW_PRIVATE_H
#define LOCUS_STORE_ROW_PRIVATE_H

#include "base/sync.h"
#include "store/change.h"
#include "store/row.h"

/* A copy that a writer disturbs this often in a row is made under the latch. */
enum { READ_ATTEMPTS = 4 };

/* The slot that is reserved for the key here: if it was at home here at the start. */
static inline uint64_t own_slot(struct row_ref s)
{
    uint64_t elsewhere;
    if (!s.partition->home) return row_ref_number(s);
    uint64_t slot = home_slot(s.partition->home, row_ref_number(s), &elsewhere);
    return elsewhere ? SLAB_NONE : slot;
}

/* Returns the word, latched by us; or, unlatched, a word that says that the row is not here; or,
 * if it may have copies, one that says so. Waits for the holder of the latch. */
static inline directory_word latch_or_copies(struct row_ref s, bool may_have)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (directory_has_copies(w)) {
            if (may_have) return w;
            copies_end(s);
            continue;
        }
        if (directory_is_latched(w)) {
            directory_add_waiter(row_ref_word(s), w);
            spin_wait(&spins);
            continue;
        }
        if (!row_ref_is_held(s, w)) return w;
        if (directory_try_latch(row_ref_word(s), w)) return w | DIRECTORY_LATCH;
    }
}

static inline directory_word latch_here(struct row_ref s)
{
    return latch_or_copies(s, false);
}

/* The same for who changes the row while workers keep their copies of it: its word is held then,
 * and says so. Either is given back by unlatch(). */
static inline directory_word latch_beside(struct row_ref s)
{
    for (;;) {
        directory_word w = latch_or_copies(s, true);
        if (!directory_has_copies(w) || (w = copies_hold_word(row_ref_word(s)))) return w;
    }
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

/* Takes two slots for a replica and returns the first. A key whose home is here has no computed
 * slots for a replica. */
static inline uint64_t take_pair(struct row_ref s)
{
    uint64_t elsewhere, slot = home_slot(s.partition->home, row_ref_number(s), &elsewhere);
    uint64_t pair = slab_take(&s.partition->pairs,
                              elsewhere && s.partition->computes_replicas ? slot / 2 : SLAB_NONE);
    return pair == SLAB_NONE ? SLAB_NONE : s.partition->first_pair + 2 * pair;
}

/* For the shard: the row, or a replica, comes or leaves with this word. */
static inline void publish_moved(struct row_ref s, directory_word next)
{
    directory_publish(row_ref_word(s), next);
    row_ref_moved(s);
    row_ref_touched(s);
}

/* It leaves, if its word is still w. */
static inline bool try_move(struct row_ref s, directory_word w, directory_word next)
{
    if (!__atomic_compare_exchange_n(row_ref_word(s), &w, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    row_ref_moved(s);
    return true;
}

/* Each time a row arrives, its version begins far from the last one: a reader that began before the
 * row left and ends now must not find the same word again. */
static inline uint64_t fresh_version(struct partition *p)
{
    return __atomic_add_fetch(&p->arrivals, 1, __ATOMIC_RELAXED) * UINT64_C(0x9E3779B1);
}

/* The word of a main copy without replicas (store.h). If it is tracked its shard knows that it is
 * dirty. */
static inline directory_word main_word(const struct partition *p, uint64_t slot, uint64_t version)
{
    return p->optimizer || p->tracks_all
               ? directory_held(DIRECTORY_TRACKED, slot, version) | DIRECTORY_DIRTY
               : directory_main(slot, version);
}

#endif
