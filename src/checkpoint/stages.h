/*
 * stages.h - a checkpoint or restore in stages of all workers of all nodes: after each stage they
 * meet, and if one has failed, all end.
 *
 *     COLLECTIVE_CHECKPOINT or _RESTORE    our updates are in the main copies
 *     COLLECTIVE_STAGE                     replicas have them, and whatever the stage did
 *     ...
 *     COLLECTIVE_END
 *
 * Memory    malloc, from a node's first checkpoint on: after a loss some may still be at work
 * Waiting   as any collective
 * Life      stages_begin, stages_meet..., stages_end; stages_free_work at the end of the node
 */
#ifndef LOCUS_CHECKPOINT_STAGES_H
#define LOCUS_CHECKPOINT_STAGES_H

#include "checkpoint/home_rows.h"
#include "checkpoint/series.h"

/* What the workers of a node do together: the next takes what the last has left. */
struct checkpoint_work {
    pthread_mutex_t mutex;
    struct slice dealt;       /* last */
    struct manifest manifest; /* of what this node wrote; or of what is restored */
    unsigned next_file;       /* to read */
};

struct stages {
    locus_worker *worker;
    const char *call, *directory;
    struct checkpoint_work *work; /* the node's, from the second stage on */
    bool is_first;                /* of its node */
    struct word word;             /* to say, and heard at the last stage */
};

/* Waits for the caller's operations, and for all. */
int stages_begin(struct stages *, const char *call, locus_worker *, const char *directory,
                 enum collective_kind);
/* The second meeting: afterwards replicas are equal to main copies. */
int stages_flush(struct stages *, int rc);
/* rc: the result of the caller's part, with its sentence if it failed. Returns the result of
 * all. */
int stages_meet(struct stages *, enum collective_kind, int rc);
/* After any of them; returns rc with the sentence that it has. */
int stages_end(const struct stages *, int rc);

/* One worker of all. */
bool stages_is_rank_0(const struct stages *);
/* The next slice for this worker. */
bool stages_deal(struct stages *, struct slice *);
/* By the first worker, while no other looks: nothing was dealt yet, and there is no manifest. */
void stages_renew_work(struct checkpoint_work *);
void stages_free_work(struct checkpoint_work *); /* NULL is allowed */

#endif
