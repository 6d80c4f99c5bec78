/*
 * collective.h - where the workers of a node meet, and then all nodes.
 *
 * A node has arrived when every worker id of it has arrived or has closed; ids that never opened
 * are waited for. One of the waiting workers then meets the other nodes for all of them
 * (collective_others).
 *
 * Where there are replicas a quiesce has two meetings. A worker that opens after its node has
 * arrived at the first one is late: both go on without it, and its own collective begins after
 * them. (rendezvous_present() does the same among nodes.)
 *
 * Callers   worker.c, from the workers' threads; collective_fail from any
 * Memory    its own
 * Waiting   collective_meet: until all are there or a node was lost; after 10 s, and then every 10
 *           s, it says on stderr which workers are missing (the rendezvous says which nodes)
 * Life      collective_init, workers open / meet / close, collective_fini
 */
#ifndef LOCUS_COLLECTIVE_H
#define LOCUS_COLLECTIVE_H

#include "locus.h"
#include "membership/meeting.h"

#include <pthread.h>
#include <stdbool.h>

enum collective_kind {
    COLLECTIVE_NONE,
    COLLECTIVE_BARRIER,
    COLLECTIVE_QUIESCE, /* where one meeting is enough */
    COLLECTIVE_UPDATES, /* the first of two, */
    COLLECTIVE_COPIES,  /*   and the second */
    /* The first of several. No worker opens before their end: it might change rows. A node whose
     * workers have all closed fails it. */
    COLLECTIVE_CHECKPOINT,
    COLLECTIVE_RESTORE,
    COLLECTIVE_STEP, /* between, */
    COLLECTIVE_END,  /*   and the last one */
};
enum collective_place { PLACE_NEVER_OPENED, PLACE_OPEN, PLACE_CLOSED, PLACE_ARRIVED, PLACE_LATE };

/* Meets the other nodes, as meeting.h says; 0, what somebody's word was, or another negative
 * errno. */
typedef int collective_others(void *context, const struct meeting *, struct word *);

struct collective {
    pthread_mutex_t mutex;
    pthread_cond_t complete;
    unsigned workers;
    uint64_t meeting;          /* counts the completed ones */
    enum collective_kind kind; /* that some are waiting in */
    bool others_called;        /* one of ours is meeting the other nodes */
    bool goes_on;              /* the last meeting was not the last of several */
    bool is_still;             /*   and no worker opens before that */
    struct word said, answer;  /* by those who wait; of the last meeting */
    int result;                /* of the last meeting */
    int failure;               /* 0, or what every meeting returns */
    collective_others *others; /* NULL in a cluster of one */
    void *context;
    unsigned char place[LOCUS_WORKERS_MAX];
};

void collective_init(struct collective *, unsigned workers);
/* There are other nodes, and this is how to meet them; before the first worker opens. */
void collective_join(struct collective *, collective_others *, void *context);
void collective_fini(struct collective *);

/* The lowest free id, or -EBUSY. Waits while nobody may open. */
int collective_open(struct collective *);
void collective_close(struct collective *, int id);
unsigned collective_open_count(struct collective *);

/* Arrives and waits. -EINVAL: others wait in a collective of another kind; the caller did not
 * arrive. What collective_others or collective_fail said: a node was lost. */
int collective_meet(struct collective *, int id, enum collective_kind kind);

/* The same, and each says a word, which becomes the answer that all hear, on all nodes: the first
 * failure, whose errno is returned and whose sentence is in locus_error(), or the first text. */
int collective_agree(struct collective *, int id, enum collective_kind kind, struct word *);
/* The lowest id that is open: one of those who are in a collective. */
bool collective_is_first(struct collective *, int id);

/* Every wait ends, and every later one fails, with rc. */
void collective_fail(struct collective *, int rc);

/* Has every worker id closed? Then the node counts as arrived at what the others do. */
bool collective_all_closed(struct collective *);

#endif
