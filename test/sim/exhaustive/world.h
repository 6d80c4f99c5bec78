/*
 * world.h - three nodes' shards, one key, and a message at a time: everything that can happen next
 * is a choice.
 *
 * Memory    its own and the arena's
 * Waiting   never
 * Life      world_open, world_choices / world_do / world_check, world_close; saving and restoring
 *           at will between
 */
#ifndef LOCUS_EXHAUSTIVE_WORLD_H
#define LOCUS_EXHAUSTIVE_WORLD_H

#include "scenario.h"

/* What may happen: a worker calls, closes, a shard takes a request of a worker, a message arrives,
 * a shard has its turn; a turn in which the pacer lets it synchronize, or not. A node is lost; a
 * shard hears of that. */
enum world_event {
    WORLD_CALLS,
    WORLD_CLOSES,
    WORLD_SERVES,
    WORLD_ARRIVES,
    WORLD_TURNS,
    WORLD_LOSES,
    WORLD_HEARS
};
struct world_choice {
    enum world_event event;
    uint8_t from, to; /* worker; nodes; node, and whether it synchronizes */
};
enum { WORLD_CHOICES_MAX = 48 };

void world_open(const struct scenario *);
void world_close(void);

unsigned world_choices(struct world_choice[WORLD_CHOICES_MAX]);
void world_do(struct world_choice);

/* NULL, or which invariant is violated; `at_rest`: nothing more can happen. */
const char *world_check(bool at_rest);

/* Returns the bytes of the copy, which must have room for WORLD_COPY_BYTES. */
enum { WORLD_COPY_BYTES = 1 << 19 };
size_t world_save(char *copy);
void world_restore(const char *copy);

/* All that matters of the state, and nothing else. */
uint64_t world_hash(void);

/* In words. */
void world_print_choice(struct world_choice);
void world_print(void);

#endif
