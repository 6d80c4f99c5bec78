/*
 * checkpoints.h - when a training program writes a checkpoint, and how it resumes from one:
 * --checkpoint, --checkpoint-every, --resume.
 *
 * A checkpoint has the rows, and beside them a note: how far training had come, and with which
 * data and options. It has no random numbers: programs draw those of an epoch, or of a part of one,
 * from a separate stream, so that they follow from the position and the seed.
 *
 *     if (!checkpoints_resume(&c, m, &p)) first_rows(m);
 *     checkpoints_begin(&c, m, &p);
 *     while (...) {
 *         train a part;
 *         figures[] = {..., checkpoints_is_due(&c, m, &next)};
 *         pool_sum(m, figures, ...);
 *         if (figures[...] > 0) checkpoints_write(&c, m, &next);
 *     }
 *
 * Callers   options and init: main(); the others: every worker of every node
 * Memory    texts belong to argv
 * Waiting   for all workers of all nodes, and the disk
 */
#ifndef APPS_CHECKPOINTS_H
#define APPS_CHECKPOINTS_H

#include "args.h"
#include "pool.h"

#include <stdbool.h>
#include <stdint.h>

/* How often something happens: --eval-every and --checkpoint-every. 2: epochs; 30s: seconds; 500k,
 * 2M: thousands and millions of examples; 0: never. One of them at most is not 0. */
struct every {
    uint64_t epochs;
    double seconds, examples;
};

/* False: the text is none of these. */
bool every_read(struct every *, const char *text);

static inline bool every_is_ever(const struct every *e)
{
    return e->epochs > 0 || e->seconds > 0 || e->examples > 0;
}

enum { CHECKPOINTS_PARTS = 32, CHECKPOINTS_SUMS = 4, CHECKPOINTS_FIGURES = 12 };

/* As given. */
struct checkpoints_wish {
    const char *folder, *every; /* NULL: no checkpoints */
    bool resumes;
};

/* How far a training has come. */
struct progress {
    uint64_t epochs;               /* are over */
    uint64_t part;                 /* so many of the next one's parts are, too */
    double seconds;                /* of training, in all runs */
    double sums[CHECKPOINTS_SUMS]; /* the program's, of the epoch that is not over */
    double
        figures[CHECKPOINTS_FIGURES]; /* the program's, of all that was; the first worker's count */
};

/* A node's. */
struct checkpoints {
    const char *folder;
    struct every every;
    uint64_t parts;  /* of an epoch, between which there may be one */
    uint64_t epochs; /* wanted: behind the last there is one in any case */
    bool resumes, json;
    /* The first worker's: */
    double began_s, written_s;
    double waits_s,
        told_s; /* since when for a node that has come; 0: for none. And when it said so */
    bool has_told_within; /* an epoch */
};

/* --checkpoint, --checkpoint-every and --resume. */
void checkpoints_options(struct checkpoints_wish *, struct args_list *);
/* How often the job was started again, as its launcher says. */
unsigned long checkpoints_restarts(void);
/* Of the wish, what must be equal on all nodes. */
uint64_t checkpoints_digest(const struct checkpoints_wish *, uint64_t digest);
/* What is wrong in them, and a folder that cannot be written to, ends the program. */
void checkpoints_check(const struct checkpoints_wish *);
/* `parts_max`: of an epoch, for those who want them by
 * time. */
void checkpoints_init(struct checkpoints *, const struct checkpoints_wish *, uint64_t epochs,
                      uint64_t parts_max, bool json);

/* 1: the rows, and *progress, are those of the newest checkpoint. 0: there is none to go on from, and
 * nothing has changed. -EAGAIN: a node has come that is to be let in before (pool_let_in()). */
int checkpoints_resume(struct checkpoints *, struct pool_member *, struct progress *);
/* When training begins, before all meet. */
void checkpoints_begin(struct checkpoints *, const struct pool_member *, const struct progress *);
/* 1 on one worker when it is time for one at this place; to be summed up. Parts of the epoch are
 * over, all or some. */
double checkpoints_is_due(const struct checkpoints *, const struct pool_member *,
                          const struct progress *);
/* Behind pool_sum(): all have quiesced. False: not now, since a node has come that has not met the
 * others (pool_let_in()), or one is about to leave. */
bool checkpoints_write(struct checkpoints *, struct pool_member *, const struct progress *);
/* Then: within an epoch there is none, and the first worker says so once. Else all meet, and try again;
 * is there still time, by the first worker? Unless it must be, others go on without after 10 s. The
 * first worker says every 10 s what waits, and for whom. */
void checkpoints_leave_out(struct checkpoints *, const struct pool_member *);
bool checkpoints_wait(struct checkpoints *, const struct pool_member *, const char *what,
                      bool must);

/* A part more, of so many in an epoch. */
void progress_next(struct progress *, uint64_t parts);

#endif
