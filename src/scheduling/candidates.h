/*
 * candidates.h - which variable a schedule considers next: in turn, by priority, or as the program
 * says.
 *
 * Variables are counted within the schedule's share: 0 ... count - 1. One that is busy (in a round,
 * refused and waiting, or left out by the configuration) is no candidate.
 *
 * Memory    a bit a variable; 20 bytes with priorities
 * Waiting   never
 * Life      candidates_init; any mix of the rest; candidates_fini
 */
#ifndef LOCUS_SCHEDULING_CANDIDATES_H
#define LOCUS_SCHEDULING_CANDIDATES_H

#include "scheduling/weights.h"
#include "locus_schedule.h"

struct candidates {
    const struct locus_schedule_config *config; /* the schedule's */
    uint64_t count;
    uint64_t *busy;         /* a bit a variable */
    uint64_t cursor;        /* whose turn it is */
    uint64_t unseen;        /* priority: variables that have not had their first turn */
    uint64_t given;         /* candidates, to know whose turn it is */
    struct weights weights; /* priority: 0 while busy */
    float *change;          /* priority: the last one */
    uint64_t random;        /* splitmix64's state */
};

/* With priorities, one in this many candidates comes in turn. A variable's last change does not say
 * by how much it would change now, after all others have changed: with far fewer turns the
 * objective improves more slowly. */
enum { CANDIDATES_TURN = 2 };

/* 0 or -ENOMEM. */
int candidates_init(struct candidates *, const struct locus_schedule_config *, uint64_t count);
void candidates_fini(struct candidates *);

/* Returns 1 and the next candidate, which is busy from now on; 0: there is none; -EINVAL: the
 * program's function gave something that is not a variable. */
int candidates_next(struct candidates *, uint64_t *variable);
/* It is not busy any more. */
void candidates_free(struct candidates *, uint64_t variable);
void candidates_changed(struct candidates *, uint64_t variable, double change);

#endif
