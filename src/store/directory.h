/*
 * directory.h - the word of a key: one atomic 64-bit word that says where its row is, and is the
 * row's latch and version.
 *
 *   bit 0      latch: a writer (or a mover, or a reader after too many attempts) is at work
 *   bits 1-3   state
 *   held:      bits 4-35 the row's slot; bit 36 a thread waits for the latch; bit 37 dirty;
 *              bit 38 workers have copies; bits 39-63 the version: every change of the row raises it
 *   elsewhere: bits 4-19 the owner as far as known; bits 20-63 the term of that ownership
 *              (src/protocol/README.md)
 *
 *                 first write              row_take
 *   UNTOUCHED ------------------> MAIN ---------------> ELSEWHERE --row_put--> MAIN, or EMPTY
 *                                                                              when never written
 *   EMPTY -----first write------> MAIN <--row_track / row_untrack--> TRACKED
 *                                                   TRACKED --row_take_unchanged--> ELSEWHERE
 *   ELSEWHERE <--row_replicate / row_forget--> REPLICA ----row_promote----> MAIN
 *
 * All rows that have replicas and were never written share one slot of zeros, and so do these
 * replicas; the first write gives the row, or the replica, a slot of its own.
 *
 * UNTOUCHED is zero, so a fresh directory costs no memory. On the home node it means that the row
 * is here and was never written; on any other node, that the row is at its home (under full
 * replication, that it is a replica of zeros). A lookup is one load. A copy of the row is
 * consistent if the word is the same before and after. A reader would be deceived only if the
 * version wrapped around (2^25 changes) during one copy.
 *
 * Callers   any thread
 * Memory    store.c reserves 8 bytes a key; pages by use
 * Waiting   never here
 * Life      words live as long as the store
 */
#ifndef LOCUS_STORE_DIRECTORY_H
#define LOCUS_STORE_DIRECTORY_H

#include "base/sync.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t directory_word;

enum directory_state {
    DIRECTORY_UNTOUCHED = 0,
    DIRECTORY_ELSEWHERE = 1,
    DIRECTORY_MAIN = 2, /* the main copy is here */
    /* a replica is here; if dirty, the next slot says what the owner does not have (row.h) */
    DIRECTORY_REPLICA = 3,
    DIRECTORY_EMPTY = 4,   /* the main copy is here: never written, all zeros, no memory */
    DIRECTORY_TRACKED = 6, /* the main copy is here: it has replicas, or its table an optimizer */
};

#define DIRECTORY_LATCH UINT64_C(1)
#define DIRECTORY_STATE_MASK UINT64_C(14)
#define DIRECTORY_HAS_ROW UINT64_C(4) /* of the states: those that have a slot */
#define DIRECTORY_WAITERS (UINT64_C(1) << 36)
/* Of REPLICA and TRACKED: changed here since the shard last looked; the key is in the dirty set
 * (store.h). */
#define DIRECTORY_DIRTY (UINT64_C(1) << 37)
/* With the latch, of a row here: workers have copies of it, and nobody has its latch (copies.h). */
#define DIRECTORY_HAS_COPIES (UINT64_C(1) << 38)
#define DIRECTORY_VERSION_SHIFT 39
#define DIRECTORY_VERSION_ONE (UINT64_C(1) << DIRECTORY_VERSION_SHIFT)
#define DIRECTORY_VERSIONS (UINT64_C(1) << (64 - DIRECTORY_VERSION_SHIFT))
#define DIRECTORY_SLOT_BITS 32
#define DIRECTORY_SLOTS_MAX (UINT64_C(1) << DIRECTORY_SLOT_BITS)
#define DIRECTORY_NODE_BITS 16
#define DIRECTORY_TERM_BITS 44

static inline enum directory_state directory_state(directory_word w)
{
    return (enum directory_state)((w & DIRECTORY_STATE_MASK) >> 1);
}

static inline bool directory_is_latched(directory_word w)
{
    return w & DIRECTORY_LATCH;
}

static inline bool directory_has_copies(directory_word w)
{
    const directory_word all = DIRECTORY_HAS_COPIES | DIRECTORY_LATCH | DIRECTORY_HAS_ROW;
    return (w & all) == all;
}

/* Here, written, and no writer at work: the only test of the fast path. */
static inline bool directory_is_readable(directory_word w)
{
    return (w & (DIRECTORY_HAS_ROW | DIRECTORY_LATCH)) == DIRECTORY_HAS_ROW;
}

/* The same, and no other node has a replica. */
static inline bool directory_is_own(directory_word w)
{
    return (w & (DIRECTORY_STATE_MASK | DIRECTORY_LATCH)) == DIRECTORY_MAIN << 1;
}

/* Here or a replica, written, no writer at work, and dirty: the key is in the dirty set, or the
 * table has an optimizer and no other node has a replica. */
static inline bool directory_is_dirty(directory_word w)
{
    return (w & (DIRECTORY_HAS_ROW | DIRECTORY_LATCH | DIRECTORY_DIRTY)) ==
           (DIRECTORY_HAS_ROW | DIRECTORY_DIRTY);
}

/* The same of a main copy. */
static inline bool directory_is_own_stepped(directory_word w)
{
    return (w & (DIRECTORY_STATE_MASK | DIRECTORY_LATCH | DIRECTORY_DIRTY)) ==
           (DIRECTORY_TRACKED << 1 | DIRECTORY_DIRTY);
}

static inline bool directory_has_row(directory_word w)
{
    return w & DIRECTORY_HAS_ROW;
}

/* Of a word that has a row: 1 for a replica, else 0. */
static inline int directory_is_replica(directory_word w)
{
    return w >> 1 & 1;
}

static inline uint64_t directory_slot(directory_word w)
{
    return w >> 4 & (DIRECTORY_SLOTS_MAX - 1);
}

static inline uint64_t directory_version(directory_word w)
{
    return w >> DIRECTORY_VERSION_SHIFT;
}

/* Only the lowest 25 bits of `version` are used. */
static inline directory_word directory_held(enum directory_state state, uint64_t slot,
                                            uint64_t version)
{
    return version << DIRECTORY_VERSION_SHIFT | slot << 4 | (uint64_t)state << 1;
}

static inline directory_word directory_main(uint64_t slot, uint64_t version)
{
    return directory_held(DIRECTORY_MAIN, slot, version);
}

static inline directory_word directory_empty(void)
{
    return DIRECTORY_EMPTY << 1;
}

static inline directory_word directory_elsewhere(unsigned owner, uint64_t term)
{
    return term << 20 | (uint64_t)owner << 4 | DIRECTORY_ELSEWHERE << 1;
}

static inline unsigned directory_owner(directory_word w)
{
    return w >> 4 & ((1u << DIRECTORY_NODE_BITS) - 1);
}

static inline uint64_t directory_term(directory_word w)
{
    return w >> 20;
}

static inline directory_word directory_load(const directory_word *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Release: a thread that sees the new word sees the row as it was written before. Pairs with the
 * acquire in directory_load(). */
static inline void directory_publish(directory_word *word, directory_word w)
{
    __atomic_store_n(word, w, __ATOMIC_RELEASE);
}

/* The latched word keeps state and slot, so that views continue and readers know that they must
 * wait. */
static inline bool directory_try_latch(directory_word *word, directory_word w)
{
    bool ok = __atomic_compare_exchange_n(word, &w, w | DIRECTORY_LATCH, false, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED);
    /* Release: the latch is visible before the first change of the row. Pairs with the fence in
     * directory_is_unchanged(): a reader that copied any of our changes sees the latch or a later
     * version. (No instruction on x86.) */
    FENCE(__ATOMIC_RELEASE);
    return ok;
}

/* Tells the holder of the latch, whose word is w, that a thread waits. If the holder has just
 * released it, nothing is lost: the release clears the bit, and the next look sets it again. */
static inline void directory_add_waiter(directory_word *word, directory_word w)
{
    if (!(w & DIRECTORY_WAITERS))
        __atomic_compare_exchange_n(word, &w, w | DIRECTORY_WAITERS, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

/* For the holder, before it releases. */
static inline bool directory_has_waiters(const directory_word *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) & DIRECTORY_WAITERS;
}

/* After a copy: was the row whole? */
static inline bool directory_is_unchanged(const directory_word *word, directory_word w)
{
    /* Acquire: the copy is complete before the word is looked at again. Pairs with the fence in
     * directory_try_latch(). */
    FENCE(__ATOMIC_ACQUIRE);
    return __atomic_load_n(word, __ATOMIC_RELAXED) == w;
}

#endif
