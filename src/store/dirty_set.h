/*
 * dirty_set.h - which keys of a shard have changed and others must hear of it: set by any thread,
 * taken by the shard.
 *
 * A tree of bits, 64 children to a word. Setting goes up only while a word was empty, taking goes
 * down from the root and empties each word with one exchange; so a mark that is set while others
 * are taken is either seen or found again by way of the root. Both cost what was marked, however
 * many keys there are.
 *
 * Callers   row.c sets, on any thread, under the key's latch; the shard's thread sets and takes
 * Memory    a bit a key and 1/63 more, reserved at init, used only where marks were
 * Waiting   never
 * Life      dirty_set_init, any use, dirty_set_fini
 */
#ifndef LOCUS_STORE_DIRTY_SET_H
#define LOCUS_STORE_DIRTY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIRTY_SET_LEVELS_MAX = 7 };

struct dirty_set {
    unsigned levels;
    uint64_t *level[DIRTY_SET_LEVELS_MAX]; /* [0]: the keys; the last is one word, the root */
    void *memory;
    size_t bytes;
    /* Called by the thread that sets a mark when there was none. NULL: nothing is called. Must not
     * wait. */
    void (*notify)(void *context);
    void *context;
};

/* For indices 0 ... bound-1; false: no address space. */
bool dirty_set_init(struct dirty_set *, uint64_t bound);
void dirty_set_fini(struct dirty_set *);
void dirty_set_add(struct dirty_set *, uint64_t index);
bool dirty_set_is_empty(const struct dirty_set *);
/* Takes all marks, in ascending order. */
void dirty_set_take(struct dirty_set *, void (*each)(void *context, uint64_t index), void *context);

#endif
