/*
 * reactor_private.h - a reactor's two sides: reactor.c is its thread and who takes its turns,
 * reactor_ask.c what other threads ask of it.
 *
 * Callers   as the fields say
 * Memory    the reactor's
 * Waiting   never
 * Life      the reactor's
 */
#ifndef LOCUS_ACTORS_REACTOR_PRIVATE_H
#define LOCUS_ACTORS_REACTOR_PRIVATE_H

#include "actors/actor.h"
#include "actors/mailbox.h"
#include "actors/reactor.h"
#include "actors/turn.h"
#include "net/uring.h"

#include <pthread.h>

enum { REASON_BYTES = 200 };

struct inbox {
    struct mailbox mailbox;
    struct request *current; /* taken out, and waiting for credit */
};

/* A question of another thread about a key. The thread that takes it out of its place, to answer it
 * or because it has waited too long, owns it. */
struct question {
    uint64_t index;
    struct key_snapshot *answer;
    bool is_answered; /* atomic */
};

struct reactor {
    /* The reactor's thread. */
    struct shard shard;
    struct platform platform;
    struct uring *uring;
    struct link **link; /* [nodes] atomic; NULL: it is ourselves, or was no member yet */
    struct outbox outbox;
    struct inbox *inbox; /* [workers] */
    unsigned nodes, workers;
    size_t unsubmitted_bytes; /* of entries since the last submission within a turn */
    bool yields, saw_loss, said_bye;
    struct change change; /* the last one of members */
    unsigned left;        /* who has left by it, and has a link yet; 0: nobody */
    unsigned first_inbox; /* of the next turn */
    struct pinning_place place;
    uint64_t goodbye_ns;         /* when to stop waiting for goodbyes */
    uint64_t due_ns;             /* when the shard wants a turn */
    bool has_one_worker;         /* which may need the thread's core */
    uint64_t slept_ns, until_ns; /* when the thread last woke; until when it sleeps */
    uint64_t sleeps;             /* how often there was nothing to do; read by any thread */
    void (*completed)(struct request *, int rc);
    void (*lost)(void *context, unsigned rank, const char *reason);
    void (*repaired)(void *context, uint32_t view);
    void *context;
    pthread_t thread;
    bool started;
    /* The only worker's. */
    bool is_as_soon;
    uint64_t soon_ns; /* when that was asked */
    /* Shared with other threads. */
    struct {
        struct turn turn;
        pid_t thread; /* atomic; 0: not begun */
        int helper;   /* the worker waits, and would take turns itself */
        int stopping;
        int loss; /* 0: none; 1: being written; 2: rank and reason below stand */
        unsigned lost_rank;
        struct question *question; /* atomic; NULL: none */
        int has_change;            /* atomic: of members, to begin with */
        struct change change;
        int fd; /* of who joins */
        char reason[REASON_BYTES];
    } shared __attribute__((aligned(64)));
};

#endif
