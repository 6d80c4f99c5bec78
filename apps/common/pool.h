/*
 * pool.h - the worker pool of this node: opens locus, starts the worker threads, and has their
 * collectives. With the baseline there is no locus: the same threads share plain arrays.
 *
 * Callers   pool_open, _run, _close: main(); the rest: the workers' threads, each with its own
 *           member
 * Memory    the pool's; with the baseline all tables are arrays here
 * Waiting   pool_open() for all nodes; pool_meet() and pool_quiesce() for all workers of all nodes
 * Life      open, run any number of times, close. Any failure ends the program with a sentence
 */
#ifndef APPS_POOL_H
#define APPS_POOL_H

#include "locus.h"
#include "world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_TABLES_MAX = 8, POOL_FIGURES_MAX = LOCUS_SUM_MAX };

/* Bounded staleness: pace.h. */
struct pool_bound {
    bool is_on, keeps;     /* replicas come when they are missed; and stay */
    locus_clock staleness; /* clocks that a copy may be behind */
};

struct pool_config {
    const struct locus_table *tables; /* at most POOL_TABLES_MAX */
    size_t table_count;
    unsigned workers; /* threads of each node; the same on all nodes */
    /* additional workers that a node may open, for schedulers; nothing waits for them until they
     * open */
    unsigned spare;
    enum locus_technique technique;
    struct pool_bound bound;
    bool is_baseline;
    uint64_t fingerprint; /* of data and options: nodes that differ in it are refused */
    uint64_t task;        /* likewise, of what goes on from a checkpoint */
};

/* A table as a plain array. With an optimizer, which is AdaGrad there, as many sums of squares
 * follow the values of a row. */
struct pool_table {
    locus_key first;
    uint64_t rows;
    uint32_t length; /* values of a row */
    uint32_t stride; /* floats from row to row, in the array */
    double rate;     /* of its optimizer, as it was opened */
    float *values;   /* NULL with locus */
};

struct pool {
    locus *node; /* NULL for the baseline */
    int rank, size;
    unsigned workers, spare;
    struct pool_bound bound;
    struct pool_table tables[POOL_TABLES_MAX];
    size_t table_count;
    struct world_meeting meeting;     /* of the baseline, and of the node's workers */
    double figures[POOL_FIGURES_MAX]; /* of the baseline */
    const void *given;                /* pool_first_gives() */
    uint64_t task;
    bool survives;    /* the loss of a node */
    bool is_newcomer; /* the others were training already */
    bool may_leave;   /* when it is told to: pool_heeds_term() */
    bool leaves;
};

/* One worker. */
struct pool_member {
    struct pool *pool;
    locus_worker *worker;  /* NULL for the baseline */
    unsigned index;        /* among this node's */
    unsigned place, total; /* among those of all nodes that are there: pool_deal() */
    double rate;           /* the share of the learning rate that a step takes now; at first 1 */
};

/* The nodes that are there, and which of them this is. */
static inline unsigned pool_nodes(const struct pool_member *m)
{
    return m->total / m->pool->workers;
}

static inline unsigned pool_node(const struct pool_member *m)
{
    return m->place / m->pool->workers;
}

/* The worker's. */
static inline uint64_t pool_clock(const struct pool_member *m)
{
    return m->worker ? (uint64_t)locus_current_clock(m->worker) : 0;
}

/* The key is in one. */
static inline const struct pool_table *pool_table_of(const struct pool *pool, locus_key key)
{
    const struct pool_table *t = pool->tables;
    while (key - t->first >= t->rows) t++;
    return t;
}

typedef void pool_work(struct pool_member *, void *context);

void pool_open(struct pool *, const struct pool_config *);
/* Starts all workers with the same context, and returns when all have returned. */
void pool_run(struct pool *pool, pool_work *work, void *context);
void pool_close(struct pool *);

/* From now on a step of this worker takes so much of the learning rate (rate.h). With locus tables
 * have a rate for all workers of a node, which are about equally far. */
void pool_set_rate(struct pool_member *, double share);

/* Collectives: every worker of every node calls them in the same order. */

/* Returns when all have come. */
void pool_meet(struct pool_member *);
/* The same, and every copy of every row holds every update made before. */
void pool_quiesce(struct pool_member *);
/* In a cluster that survives: `figures` become their sums, and nodes that have come are let in, whose
 * workers call it first of all. If the others have left by then, the sums are without theirs. */
void pool_let_in(struct pool_member *, double *figures, size_t count);
/* Places are dealt anew, among the nodes that are there. Are they fewer than before, or more? */
bool pool_deal(struct pool_member *);
/* From now on SIGTERM tells a node but rank 0 of a cluster that survives to leave, and the next one
 * ends it. Was it told? All workers of the node ask pool_must_leave() at the same places, get the same
 * answer, and if it is true return at once; then pool_close() leaves. */
void pool_heeds_term(struct pool *);
bool pool_is_told(const struct pool *);
bool pool_must_leave(struct pool_member *);
/* Only this node's workers. */
void pool_meet_here(struct pool_member *);
/* What this node's first worker gives, which must stay until all have met again. */
const void *pool_first_gives(struct pool_member *, const void *mine);
/* Every worker gives `count` figures, and gets their sums over all workers of all nodes: up to
 * POOL_FIGURES_MAX in one collective. Whole numbers below 2^53 are summed exactly. Quiesces, too. */
void pool_sum(struct pool_member *, double *figures, size_t count);

/* The part of `total` things that a worker takes: from *first to before *end. Parts differ by one
 * at most. */
void pool_share(uint64_t total, unsigned place, unsigned places, uint64_t *first, uint64_t *end);

#endif
