/*
 * collective.h - meetings of all workers of a node, and then of all nodes.
 *
 * A node has arrived when each of its worker ids has arrived or closed; a meeting waits for ids
 * that have never opened. Then one of the waiting workers meets the other nodes for all of them
 * (collective_others).
 *
 * Some collectives are several meetings, each of which belongs to the one before. A worker opens
 * between collectives only: once its node has arrived at the first meeting, it waits for the end of
 * the last. (rendezvous_present() does the same for nodes.)
 *
 * Callers   workers' threads; collective_fail from any
 * Memory    its own
 * Waiting   collective_agree: until all have arrived or a node is lost; after 10 s, and then
 *           every 10 s, it reports on stderr which workers are missing (the rendezvous reports
 *           which nodes)
 * Life      collective_init, workers open / meet / close, collective_fini
 */
#ifndef LOCUS_CLUSTER_COLLECTIVE_H
#define LOCUS_CLUSTER_COLLECTIVE_H

#include "cluster/message.h"
#include "locus.h"

#include <pthread.h>
#include <stdbool.h>

enum collective_kind {
    COLLECTIVE_NONE,
    COLLECTIVE_BARRIER,
    COLLECTIVE_SUM,
    COLLECTIVE_MEET,     /* a sum that lets newcomers in */
    COLLECTIVE_QUIESCE,  /* where one meeting is enough */
    COLLECTIVE_UPDATES,  /* the first of two, */
    COLLECTIVE_REPLICAS, /*   and the second */
    /* The first of several, which fail if all workers of a node have closed. */
    COLLECTIVE_CHECKPOINT,
    COLLECTIVE_RESTORE,
    COLLECTIVE_STAGE, /* between, */
    COLLECTIVE_END,   /*   and the last one */
};
enum collective_place { PLACE_NEVER_OPENED, PLACE_OPEN, PLACE_CLOSED, PLACE_ARRIVED };

/* Meets the other nodes, as message.h says. Returns 0, the errno of a node's word, or another
 * negative errno. */
typedef int collective_others(void *context, const struct meeting *, struct word *);

struct collective {
    pthread_mutex_t mutex;
    pthread_cond_t complete;
    unsigned workers;
    uint64_t meeting;          /* counts the completed ones */
    enum collective_kind kind; /* of the meeting in which workers wait */
    bool others_called;        /* a worker of ours is meeting the other nodes */
    bool goes_on;              /* the last meeting was not the last of several */
    unsigned count;            /* of the numbers in the words of that meeting */
    struct word answer;        /* of the last meeting */
    int result;                /* of the last meeting */
    int failure;               /* 0, or what every meeting returns */
    collective_others *others; /* NULL in a cluster of one */
    void *context;
    unsigned char place[LOCUS_WORKERS_MAX];
    const struct word *said[LOCUS_WORKERS_MAX]; /* by those that have arrived */
};

void collective_init(struct collective *, unsigned workers);
/* Sets how to meet the other nodes; called before the first worker opens. */
void collective_join(struct collective *, collective_others *, void *context);
void collective_fini(struct collective *);

/* The lowest free id, or -EBUSY. Waits for the end of a collective in which the node has arrived;
 * after 10 s, and then every 10 s, it says so on stderr. */
int collective_open(struct collective *);
/* As PLACE_CLOSED; or, when opening has failed, as it was before. */
void collective_close(struct collective *, int id, enum collective_place as);
unsigned collective_open_count(struct collective *);

/* Arrives with a word, and waits. On return the word is the answer, the same on all nodes, as
 * message.h has it, with workers in the order of their ids: of a failure the errno is returned,
 * with its sentence in locus_error(). -EINVAL: others wait in a collective of another kind, or with
 * another count of numbers; the caller did not arrive. Any other error comes from collective_others
 * or collective_fail: a node was lost. */
int collective_agree(struct collective *, int id, enum collective_kind kind, struct word *);
/* The lowest open id. Called in a collective. */
bool collective_is_first(struct collective *, int id);

/* Ends every wait, and fails every later one, with rc. */
void collective_fail(struct collective *, int rc);

/* Has every worker id closed? Then the node counts as arrived at the others' meetings. */
bool collective_all_closed(struct collective *);

#endif
