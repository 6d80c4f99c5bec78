/*
 * stages.h - a checkpoint or restore in stages of all workers of all nodes: after each stage they
 * meet, and if one has failed, all end.
 *
 *     COLLECTIVE_CHECKPOINT or _RESTORE    our updates are in the main copies
 *     COLLECTIVE_STAGE                     replicas have them, and whatever the stage did
 *     ...
 *     COLLECTIVE_END
 *
 * And the rows whose home is this node, wherever they are, dealt in slices to its workers: each row
 * has one home, and README.md says why that is who writes it.
 *
 * Memory    malloc, from a node's first checkpoint on: after a loss some may still be at work; of
 *           home_rows_each HOME_ROWS_BYTES, or one row
 * Waiting   as any collective; home_rows_each for rows that are elsewhere
 * Life      stages_begin, stages_meet..., stages_end; stages_free_work at the end of the node
 */
#ifndef LOCUS_CHECKPOINT_STAGES_H
#define LOCUS_CHECKPOINT_STAGES_H

#include "checkpoint/series.h"
#include "worker/node.h"

/* Keys of a table with consecutive indices in a shard. */
struct slice {
    unsigned table, shard;
    uint64_t from, end; /* indices */
};

/* What was dealt last; zeroed at the beginning. The caller has a lock around it. */
bool home_rows_deal(const struct store *, struct slice *last, struct slice *next);

/* Calls `visit` for each row with any bit set, until it fails. 0 or a negative errno with the
 * sentence. */
typedef int home_rows_visit(void *context, unsigned table, uint64_t row, const float *values);
int home_rows_each(locus_worker *, const struct slice *, home_rows_visit *, void *context);

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
    uint32_t repaired;            /* call_repaired() */
    struct word word;             /* to say, and heard at the last stage */
};

/* Waits for the caller's operations, and for all. */
int stages_begin(struct stages *, const char *call, locus_worker *, const char *directory,
                 enum collective_kind);
/* The second meeting: afterwards replicas are equal to main copies. From here on whatever fails with
 * MEETING_REPEATS begins again. */
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
