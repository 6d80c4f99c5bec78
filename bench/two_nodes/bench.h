/*
 * bench.h - what the parts of the benchmark of two nodes share: the steps, the settings, and the
 * nodes.
 *
 * Memory    one struct bench, static; rows and keys live as long as their cluster
 */
#ifndef BENCH_TWO_NODES_H
#define BENCH_TWO_NODES_H

#include "../common/cluster.h"
#include "../common/must.h"
#include "../common/run.h"

#include "locus.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LENGTHS = 3, BLOCK_KEYS = 1000, FLIGHT_MAX = 8 };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 16, 128, 1000 */
size_t row_bytes(unsigned length);

enum phase { ACCESS, RELOCATION }; /* a cluster each */

struct setting {
    enum phase phase;
    unsigned length, keys; /* ACCESS: a call */
};

/* ---- Steps: what is timed ---- */

enum step_kind {
    PINGPONG, /* floor: the bytes of a call there and back */
    STREAM,   /* floor: one way */
    PULL,
    PUSH,
    SET,
    ONE_BY_ONE, /* node 0 takes one row after the other */
    BY_BLOCKS,  /* node 0 takes block after block */
    TO_AND_FRO, /* node 0 takes all blocks, then node 1 takes them back, several calls in flight */
    AT_ONCE,    /* both do at once: each takes the half that the other has */
};
struct step {
    const char *name; /* the first words of the cell's name */
    enum step_kind kind;
    enum phase phase;
    unsigned flight; /* calls in flight */
    bool spins;      /* ping-pong: both ends poll their sockets instead of sleeping in them */
    bool pinned;     /* a floor: each end on a processor of its own */
    unsigned bytes;  /* stream: of a write */
    bool is_busy;    /* a second worker at each node pulls and pushes the same rows meanwhile */
};

/* ---- A node: what both processes have (node.c, background.c) ---- */

/* The worker that accesses rows while they move, on a thread of its own. */
struct background {
    locus_worker *worker;
    pthread_t thread;
    const locus_key *keys;
    size_t count;
    uint64_t random;
    atomic_bool ends;
    _Atomic uint64_t done; /* keys accessed */
    float *values;
};

/* For every row length there is one table, whose keys stand in one shuffled sequence: of ACCESS
 * those of the other node, of RELOCATION all, the same at both nodes; a block is BLOCK_KEYS
 * neighbours in it. */
struct node {
    enum phase phase;
    locus *locus;
    locus_worker *worker;
    locus_key *keys[LENGTHS];
    size_t count[LENGTHS];
    struct background background; /* RELOCATION */
};

void node_open(struct node *n, enum phase phase, int rank, const char *rendezvous);
void node_close(struct node *n);
int other_node(const struct cluster_node *); /* main() of node 1 */

void background_open(struct background *a, locus *node);
/* Pulls and pushes random rows of these from now on, until background_end. */
void background_begin(struct background *a, const locus_key *keys, size_t count);
void background_end(struct background *a);
void background_close(struct background *a);

/* Some rows, to be brought to the caller's node (flight.c). */
struct take {
    uint64_t length, first, count; /* which: of the sequence */
    uint64_t per_call, flight;
    uint64_t until_ns; /* not begun after that; 0: all */
};
struct taken {
    uint64_t ns, keys;
};
/* Times of the calls go to `times`, which may be NULL. */
struct taken take_rows(struct node *n, const struct take *t, struct latency *times);

/* What node 1 is asked, beside NODE_FIGURES. The numbers of NODE_TAKE are a struct take; it is
 * answered before it is done, NODE_TAKEN after, with a struct taken. The others are answered with a
 * number: NODE_ACCESSES with the keys that its other worker has accessed. */
enum { NODE_TAKE = 1, NODE_TAKEN, NODE_ACCESS, NODE_REST, NODE_ACCESSES, NODE_LEAVE };

/* ---- The benchmark ---- */

extern struct bench {
    /* single: how long one-key calls are timed, for their percentiles */
    uint64_t warm_ns, timed_ns, single_ns;
    struct node node;
    struct node_process *other, *raw; /* node 1; the other end of raw connections */
    /* FLIGHT_MAX calls of the largest kind; the raw connections' buffer, too */
    float *values;
} bench;

struct both {
    struct node_figures here, there;
};
struct both both_now(const locus *node, struct node_process *other);
void note_used(struct cell *, const struct both *before, const struct both *after);

/* What node 1 answers to a question with one number. */
uint64_t ask(uint64_t what, uint64_t number);
void access_measure(struct cell *, const struct step *, const struct setting *);
void relocate_measure(struct cell *, const struct step *, const struct setting *);
void gather_there(unsigned length); /* node 1 has all rows of this length */

#endif
