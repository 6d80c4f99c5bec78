/*
 * nodes.h - the nodes of a rendezvous, each a thread of the test's process while it joins, meets or
 * leaves.
 */
#ifndef TEST_MEMBERSHIP_NODES_H
#define TEST_MEMBERSHIP_NODES_H

#include "cluster/rendezvous.h"
#include "net/loopback.h"

#include <pthread.h>

enum { TEXT_BYTES = 1024 };

struct node {
    struct rendezvous_config config;
    char data_address[32];
    struct rendezvous *rendezvous;
    struct rendezvous_cluster cluster;
    int rc;
    char error[TEXT_BYTES];
    int losses, lost_rank;
    char lost_reason[TEXT_BYTES];
    unsigned views, gone; /* the last one of a cluster that survives, and whom that has lost */
    char gone_reason[TEXT_BYTES];
    unsigned told;    /* how often it was told of a view */
    uint64_t join_id; /* the last of who wants to join it, or not after all */
    unsigned joins;
    char join_address[ADDRESS_MAX];
    pthread_t thread;
    const char *barrier;
};

static inline int nodes_barrier(struct rendezvous *r, const char *name, bool goes_on)
{
    const struct meeting meeting = {.name = name, .goes_on = goes_on};
    struct word nothing = {.rc = 0};
    return rendezvous_agree(r, &meeting, &nothing);
}

static inline void sleep_s(double seconds)
{
    sleep_ms((unsigned)(seconds * 1e3));
}

/* "127.0.0.1:PORT"; valid until the next call. */
const char *nodes_address(void);

void node_init(struct node *, int rank, int size, const char *address);
void nodes_init(struct node *, int size, const char *address);

/* What a node does, on whatever thread, and what came of it is in the node. node_leave frees its
 * rendezvous. */
void *node_join(void *);
void *node_meet(void *);
void *node_save(void *); /* meets, where all are needed */
void *node_leave(void *);
void *node_leave_alone(void *);
/* The same on a thread of the node's own. */
void node_start(struct node *, void *(*call)(void *));
void node_finish(struct node *);
void nodes_finish(struct node *, int size);
/* By all at once but one, -1: by all; the last one first, so that rank 0 is late. */
void nodes_start_but(struct node *, int size, int but, void *(*call)(void *));
void nodes_finish_but(struct node *, int size, int but);
void nodes_do(struct node *, int size, void *(*call)(void *));

/* What came of it for each: that result, and a sentence with that part. */
void nodes_check(struct node *, int size, int rc, const char *part);
/* These must succeed. */
void nodes_join(struct node *, int size);
void nodes_meet(struct node *, int size);
void nodes_leave(struct node *, int size);
/* A cluster at a new address. */
void nodes_form(struct node *, int size);
/* Joins, and is refused. */
void node_check_wrong(struct node *, int rc, const char *part);

/* Until it is told of one. */
void node_await_loss(struct node *);
/* And that is the only one. */
void node_expect_loss(struct node *, int rank, const char *reason);
/* Nobody was told of any. */
void nodes_check_unharmed(const struct node *, int size);

/* A cluster that survives losses; nodes say nothing of their repair until a test does. */
void nodes_form_surviving(struct node *, int size);
/* Until it was told so often of a view: of one twice if who leaves by it is lost. */
void node_await_news(struct node *, unsigned times);
/* Until it has come to that view, in which `gone` was lost. */
void node_expect_view(struct node *, unsigned view, unsigned gone, const char *reason);
/* The same for those of them that are in the cluster. */
void nodes_expect_view(struct node *, int size, unsigned view, unsigned gone, const char *reason);
void nodes_say_repaired(struct node *, int size, uint32_t view);
/* It ends without a word: NODE_ENDED is what the others hear of it. */
void node_end(struct node *);
#define NODE_ENDED "closed the connection"
/* Until it is told that a node of that rank and address wants to join; "": not after all. Returns the
 * id. */
uint64_t node_expect_joining(struct node *, unsigned rank, const char *address);

/* Two barriers that belong together. */
void *node_meet_first(void *node);
void *node_meet_second(void *node);
/* Those that are in the cluster make the call, and all get this. */
void nodes_do_together(struct node *, int size, void *(*call)(void *), int rc);

#endif
