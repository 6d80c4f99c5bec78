/*
 * schedule.h - what mailboxes ask of a schedule's configuration, and what it draws with.
 *
 * Memory    of a schedule: a bit a variable, 20 bytes with priorities; 64 rounds of variables; taken
 *           at the start
 * Waiting   never
 * Life      locus_schedule_new; any mix of the rest; locus_schedule_free
 */
#ifndef LOCUS_SCHEDULING_SCHEDULE_H
#define LOCUS_SCHEDULING_SCHEDULE_H

#include "locus_schedule.h"

/* Each sets the sentence for the named call. */
int schedule_range(const char *call, const char *field, uint64_t value, uint64_t least,
                   uint64_t most);
int schedule_check(const char *call, const struct locus_schedule_config *);
/* The number of parts of the largest round. */
unsigned schedule_width(const struct locus_schedule_config *);

/* Draws indices by weights that change all the time. A change computes sums from their children,
 * never by adding differences: so errors do not accumulate, and if all weights are 0, so is the
 * total. */
struct weights {
    uint64_t count;
    double *sum; /* of the nodes below: 2i and 2i + 1; node 1 is the root, count ... are leaves */
};

/* All are 0. 0 or -ENOMEM. */
int weights_init(struct weights *, uint64_t count);
void weights_fini(struct weights *);
/* Finite, at least 0; their sum is finite, too. */
void weights_set(struct weights *, uint64_t index, double weight);

static inline double weights_get(const struct weights *w, uint64_t index)
{
    return w->sum[w->count + index];
}

static inline double weights_total(const struct weights *w)
{
    return w->sum[1];
}

/* The index for a uniform number from [0, 1); the total is above 0. An index of weight 0 is never
 * drawn. */
uint64_t weights_draw(const struct weights *, double uniform);

#endif
