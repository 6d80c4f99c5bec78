/*
 * schedule.h - rounds of variables: candidates that fit together, the refused ones first.
 *
 *     candidate --fits--> in a round --round done--> free
 *         |                   ^
 *         +--refused--> waits-+   the next round tries it before any other, in order of refusal
 *
 * Memory    a bit a variable, 20 bytes with priorities; 64 rounds of variables; taken at the start
 * Waiting   never
 * Life      locus_schedule_new; any mix of the rest; locus_schedule_free
 */
#ifndef LOCUS_SCHEDULING_SCHEDULE_H
#define LOCUS_SCHEDULING_SCHEDULE_H

#include "scheduling/candidates.h"

struct locus_schedule {
    struct locus_schedule_config config;
    struct candidates candidates;
    /* Those refused, in order; at most `waiting_max`, and those of a round that failed. */
    uint64_t *waiting;
    unsigned waiting_count, waiting_max;
    /* Rounds given and not done: `width` places each. The oldest is number `done`, the next is
     * `given`. */
    uint64_t *rounds;
    unsigned counts[LOCUS_SCHEDULE_AHEAD_MAX];
    uint64_t done, given;
    uint64_t *together; /* of the window: what a candidate must fit to */
    bool is_freed;
};

/* 0, or why the schedule cannot be used: NULL, or freed. */
int schedule_check_handle(const char *call, const struct locus_schedule *);
/* Checks a configuration for the named call, and sets the sentence. */
int schedule_check(const char *call, const struct locus_schedule_config *);
/* The number of parts of the largest round. */
unsigned schedule_width(const struct locus_schedule_config *);

#endif
