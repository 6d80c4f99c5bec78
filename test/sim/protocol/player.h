/*
 * player.h - workers that play their part of a script on the public interface, and take down what
 * they see.
 *
 * Memory    buffers of each worker, static
 * Waiting   as fibers
 * Life      player_begin, player_add_worker for each, fibers_run
 */
#ifndef LOCUS_SIM_PLAYER_H
#define LOCUS_SIM_PLAYER_H

#include "script.h"

/* `is_dropped` [count of steps]: not to be played; NULL: play all. comes_back: opens a node that was
 * lost, whose workers then play what theirs would have played. */
void player_begin(const struct script *, const bool *is_dropped, struct dice,
                  locus *(*comes_back)(unsigned node));
void player_add_worker(locus *, unsigned worker);

/* Writes who has not closed, what he is at, and his calls under way; returns a key of them. */
locus_key player_waiting(char *text, size_t bytes);

/* Keys that were accessed, operations called. */
struct player_counters {
    uint64_t operations, keys;
};
struct player_counters player_counters(void);

#endif
