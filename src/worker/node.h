/*
 * node.h - the parts of a node: the store, its workers, and their collectives; what they count, and
 * what workers tell the shards.
 *
 * Callers   figures_: any thread, while the node is open and does not leave its cluster; signaling_:
 *           the worker's thread or the loader's
 * Memory    allocated by locus_open(), released by locus_close(); a loader's streams of intents
 * Waiting   only in collectives
 * Life      locus_open ... locus_close; signaling_open, signaling_intent ..., signaling_close
 */
#ifndef LOCUS_WORKER_NODE_H
#define LOCUS_WORKER_NODE_H

#include "base/figures.h"
#include "cluster/cluster.h"
#include "cluster/collective.h"
#include "net/forked.h"
#include "protocol/plan.h"
#include "store/row.h"
#include "worker/operation.h"
#include "worker/sample.h"
#include "locus.h"

#include <sys/types.h>

struct checkpoint_work;
struct httpd;
struct journal;
struct team;
struct trace;

/* Where an access was served; the first two are what row_read and row_write return. */
enum { COUNT_LOCAL, COUNT_REPLICA = ROW_ON_REPLICA, COUNT_REMOTE, COUNT_PLACES };

/* Written by one thread, read by any: relaxed, never shared between writers. */
struct worker_counters {
    union {
        struct {
            WORKER_FIGURES(FIGURE_FIELD)
        };
        struct {
            uint64_t pulled[COUNT_PLACES], pushed[COUNT_PLACES]; /* keys */
        };
    };
};
static_assert(offsetof(struct worker_counters, pushed_remote) ==
                  offsetof(struct worker_counters, pushed[COUNT_REMOTE]),
              "the table has them in the order of places");

/* The number of keys of a call that one thread handles together; those that are not here are
 * stored by position. */
enum { CALL_CHUNK = 1024 };

/* In parts, by which threads write to them at run time. Loaders read a worker's first part with
 * every call; if the counters that the worker writes with every key were there, too, loaders and
 * worker would wait for each other each time. */
struct locus_worker {
    /* Written by no thread, except `bound`, and what locus_use_threads() sets. */
    struct store *store;    /* the node's */
    struct partition *only; /* its only partition; NULL: there are several */
    /* Keys below it may be accessed: all; none while it is closed, in a forked child, and once a
     * node was lost: call_why_not() knows which. */
    uint64_t bound;
    locus *node;
    int id;
    struct missed_row *missed;     /* [chunk] */
    size_t chunk;                  /* keys that are handled together: CALL_CHUNK a thread */
    struct team *team;             /* helps with many keys; NULL: nobody does */
    float *scratch;                /* for two of the longest rows, while one is changed */
    struct copies *copies;         /* of rows that others write, too; NULL: there are none */
    struct intent_stream **stream; /* [shards] of our intents; NULL: no shard uses them */
    /* The worker. */
    struct worker_counters counters __attribute__((aligned(64)));
    struct reader reader;
    /* Written by the worker, and by shards that complete something. Only with other nodes. */
    struct operations operations __attribute__((aligned(64)));
    /* Written by the worker, read by loaders. */
    locus_clock clock __attribute__((aligned(64)));
    /* for bounds: 0 until it first opens, then its clock, INT64_MAX when closed */
    locus_clock progress;
    /* of locus_bound: clocks that the rows here were behind the worker's */
    struct locus_histogram behind;
    /* Loaders, too. */
    struct samples samples __attribute__((aligned(64))); /* open ones */
    uint64_t signaled;                                   /* keys */
    unsigned loaders;                                    /* open ones */
} __attribute__((aligned(128)));

struct locus_loader {
    locus_worker *worker;
    struct intent_stream **stream; /* as the worker's */
};

struct locus {
    struct store store;
    struct collective collective;
    /* of opening and closing workers, and of telling the cluster that all have closed */
    pthread_mutex_t presence;
    struct cluster *cluster; /* NULL in a cluster of one */
    struct node_plan plan;
    bool has_store;
    bool is_closed;  /* and what is left of it is kept: base/error.h */
    pid_t process;   /* that it belongs to */
    bool is_foreign; /* this process was forked by that one */
    struct forked_watch forked;
    int rank, size;
    unsigned workers;
    locus_clock reported; /* atomic: call_report_clock() */
    uint64_t waiting_keys;
    bool moves;                   /* rows may move between nodes, or have replicas */
    bool heeds_intents;           /* shards act on them */
    struct intents **intents;     /* [shards] */
    const locus_clock **clock;    /* [workers] */
    struct clocks **clocks;       /* [shards] */
    const locus_clock **progress; /* [workers] */
    uint64_t **posted;            /* [workers], to each shard */
    uint64_t distributions;       /* ever registered */
    struct checkpoint_work *work; /* of checkpoints; NULL: there was none */
    locus_worker *worker;         /* [workers]; a closed one may be opened again */
    struct httpd *metrics;        /* NULL: not switched on */
    struct journal *journal;      /* likewise */
    struct trace *trace;          /* likewise */
};

/* Of a node of several. */
static inline struct reactor *node_reactor(const locus *n, unsigned shard)
{
    return cluster_reactors(n->cluster)[shard];
}

static inline const struct shard *node_shard(const locus *n, unsigned shard)
{
    return reactor_shard(node_reactor(n, shard));
}

/* One writer: no locked instruction. */
static inline void counter_add(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* The sums of what shards, links and workers count (base/figures.h), and what follows from them. */
struct figures {
    struct locus_stats stats;
    struct shard_counters shards;
    struct link_stats links;
    struct worker_counters workers;
    struct locus_histogram behind; /* as the workers' */
};

void figures_read(const locus *, struct figures *);
/* The sum over a cluster's shards. */
struct shard_counters figures_shards(struct cluster *);

/* A row of the tables. */
struct figure {
    const char *report, *metric, *label, *help;
    enum figure_shown shown;
    bool is_real; /* not a count */
    size_t offset;
};
extern const struct figure figure_table[];
extern const size_t figure_rows;
double figure_value(const struct figure *, const struct figures *);

/* Intents and clocks of workers and loaders go to the shards: a stream to each, which is woken when
 * it must act now. Nothing happens if no shard uses intents. */

/* Opens the streams of a worker or of one of its loaders; *streams stays NULL if no shard uses
 * intents. 0 or -ENOMEM. */
int signaling_open(locus_worker *, struct intent_stream ***streams);
/* The worker's own are closed last. */
void signaling_close(locus_worker *, struct intent_stream ***streams, bool ends_worker);
/* Keys are in range. Where no shard uses intents they are counted for statistics, and no more. 0,
 * -ENOBUFS or -ENOMEM: nothing recorded. */
int signaling_intent(locus_worker *, struct intent_stream **streams, const locus_key *keys,
                     size_t n, locus_clock start, locus_clock end);
/* The node no longer keeps these keys, nor will it. 0 or -ENOMEM: nothing recorded. */
int signaling_unintend(locus_worker *, const locus_key *keys, size_t n);
/* The worker's clock is now `now`. It was stored sequentially consistent, because the shard looks
 * at it once more after announcing that it sleeps. */
void signaling_advance(locus_worker *, locus_clock now);
/* Bounded staleness: the worker opens (0), or closes (INT64_MAX). */
void signaling_progress(locus_worker *, locus_clock);

#endif
