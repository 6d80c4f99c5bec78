/*
 * choice.h - what a scheduler of lasso needs beside the configuration: the filter by correlation,
 * and candidates at random.
 *
 * Callers   the thread of one scheduler
 * Memory    8 bytes a row, and that of overlap.h; of few columns four bits for each two; with the
 *           random order 8 bytes a column
 * Waiting   never
 */
#ifndef LASSO_CHOICE_H
#define LASSO_CHOICE_H

#include "lasso.h"
#include "overlap.h"
#include "rng.h"

/* Ways to look for what a candidate has in common with those chosen; both say the same. */
enum { CHOICE_BY_ROWS, CHOICE_ONE_BY_ONE, CHOICE_WAYS };
struct choice_way {
    double looks, calls; /* values looked at, weighed by what that costs; and candidates, lately */
};

/* So many have which two of them are alike remembered: up to 4 MiB. */
enum { CHOICE_REMEMBERED = 4096 };
/* Of a column and 64 others, a bit each. */
struct choice_pairs {
    uint64_t alike, different; /* neither: they were not compared */
};

struct choice {
    const struct lasso *lasso;
    /* If columns are few: of each, and behind them of those chosen, so many words each; `kept` of
     * them are in it */
    struct choice_pairs *pairs;
    size_t words, kept;
    uint64_t last;          /* of them */
    struct overlap overlap; /* those chosen for a round */
    double *rows;           /* the candidate's column, zeros otherwise */
    struct choice_way ways[CHOICE_WAYS];
    int way; /* of this round, which has had so many looks and calls */
    double looks, calls;
    uint64_t rounds;
    size_t count; /* of those chosen, at the call before */
    struct rng rng;
    uint64_t share, shares;
    uint64_t *active, active_count; /* for the random order */
};

void choice_open(struct choice *, const struct lasso *, unsigned share, unsigned shares);
/* Sets the callbacks of the configuration, which is that of a schedule that begins, with all that is
 * known of two columns from before; what is drawn behind so many updates follows from the seed and
 * from their number. */
void choice_begin(struct choice *, uint64_t updates, struct locus_schedule_config *);
void choice_close(struct choice *);

#endif
