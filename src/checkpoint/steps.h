/*
 * steps.h - a checkpoint or restore as steps of all workers of all nodes: after each step they
 * meet, and if one has failed, all end.
 *
 *     COLLECTIVE_CHECKPOINT or _RESTORE    our updates are in the main copies
 *     COLLECTIVE_STEP                      replicas have them, and whatever the step did
 *     ...
 *     COLLECTIVE_END
 *
 * Memory    share.h
 * Waiting   as any collective
 * Life      steps_begin, steps_meet..., steps_end
 */
#ifndef LOCUS_CHECKPOINT_STEPS_H
#define LOCUS_CHECKPOINT_STEPS_H

#include "checkpoint/home_rows.h"
#include "checkpoint/series.h"

struct steps {
    locus_worker *worker;
    const char *call, *directory;
    struct share *share; /* the node's, from the second step on */
    bool is_first;       /* of its node */
    struct word word;    /* to say, and heard at the last step */
};

/* Waits for the caller's operations, and for all. */
int steps_begin(struct steps *, const char *call, locus_worker *, const char *directory,
                enum collective_kind);
/* The second meeting: afterwards replicas are equal to main copies. */
int steps_flush(struct steps *, int rc);
/* rc: the result of the caller's part, with its sentence if it failed. Returns the result of
 * all. */
int steps_meet(struct steps *, enum collective_kind, int rc);
/* After any of them; returns rc with the sentence that it has. */
int steps_end(struct steps *, int rc);

/* The next slice for this worker. */
bool steps_deal(struct steps *, struct slice *);
/* One worker of all. */
bool steps_is_rank_0(const struct steps *);

#endif
