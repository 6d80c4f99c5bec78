/*
 * bench.h - what the parts of the benchmark of two nodes share: the steps, the settings, the nodes,
 * and the results.
 *
 * Three processes: node 0, which is the benchmark itself; node 1, which does what it is asked; and
 * the other end of the raw connections that serve as floors. There are two clusters, one after the
 * other. In the first, partitioned statically, node 0's worker accesses rows of node 1. In the
 * second rows move: both nodes have two workers, of which one takes rows, and the other one accesses
 * rows meanwhile where the step says so. For every row length there is one table, whose keys stand
 * in one shuffled sequence; a block is BLOCK_KEYS neighbours in it.
 *
 * A setting is a row length and, of accesses, a number of keys a call. In each setting every step is
 * timed in every repetition, floors and locus in turn, so that a noisy moment meets both. One step
 * in one setting is a cell.
 *
 * Memory    one struct bench, static; rows and keys live as long as their cluster
 */
#ifndef BENCH_TWO_NODES_H
#define BENCH_TWO_NODES_H

#include "../common/must.h"
#include "../common/node_process.h"
#include "../common/run.h"
#include "../common/times.h"

#include "locus.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { LENGTHS = 3, BATCHES = 3, BLOCK_KEYS = 1000, FLIGHT_MAX = 8 };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 16, 128, 1000 */
extern const unsigned batches[BATCHES]; /* keys a call: 1, 64, 1024 */

enum phase { ACCESS, RELOCATION, PHASES }; /* a cluster each */

struct setting {
    enum phase phase;
    unsigned length, batch; /* RELOCATION: batch is 0 */
};
enum { SETTINGS = LENGTHS * BATCHES };
struct setting setting_at(enum phase phase, unsigned number);

/* ---- Steps: what is timed (select.c) ---- */

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
/* Neighbours run one after the other, so the floors are close to the calls in time. */
enum { STEPS = 28 };
extern const struct step steps[STEPS];

static inline bool is_floor(const struct step *s)
{
    return s->kind == PINGPONG || s->kind == STREAM;
}

/* ---- A node: what both processes have (node.c, takes.c, background.c) ---- */

/* The worker that accesses rows while they move, on a thread of its own. */
struct background {
    locus_worker *worker;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const locus_key *keys; /* NULL: rests */
    size_t count;
    bool rests, ends;
    uint64_t done; /* keys accessed, relaxed atomic */
    float *values;
};

struct node {
    enum phase phase;
    locus *locus;
    locus_worker *worker;
    /* Shuffled: of ACCESS those of the other node, of RELOCATION all, the same at both nodes. */
    locus_key *keys[LENGTHS];
    size_t count[LENGTHS];
    struct background background; /* RELOCATION */
};

/* Some rows, to be brought to the caller's node. */
struct take {
    uint64_t length, first, count; /* which: of the sequence */
    uint64_t per_call, flight;
    uint64_t until_ns; /* not begun after that; 0: all */
};
struct taken {
    uint64_t ns, keys;
};

void node_open(struct node *n, enum phase phase, bool is_quick, int rank, const char *rendezvous);
void node_close(struct node *n);

/* Times of the calls, less `clock_cost` each, go to `times`, which may be NULL. */
struct taken take_rows(struct node *n, const struct take *t, uint64_t clock_cost,
                       struct latency *times);

/* The other worker: pulls and pushes random rows of these from now on, until background_end. */
void background_open(struct background *a, locus *node);
void background_begin(struct background *a, const locus_key *keys, size_t count);
void background_end(struct background *a); /* returns when it rests */
uint64_t background_done(const struct background *a);
void background_close(struct background *a);

/* What node 1 is asked, beside NODE_FIGURES. The numbers of NODE_TAKE are a struct take; it is
 * answered before it is done, NODE_TAKEN after, with a struct taken. The others are answered with a
 * number: NODE_ACCESSES with the keys that its other worker has accessed. */
enum { NODE_TAKE = 1, NODE_TAKEN, NODE_ACCESS, NODE_REST, NODE_ACCESSES, NODE_LEAVE };
int other_node(int argc, char **argv); /* other_node.c: its main() */

/* ---- Results ---- */

struct cell {
    bool measured;
    /* One for each repetition. */
    struct times times;                     /* of the calls */
    double per_s[REPETITIONS_MAX];          /* rows; of a stream, bytes */
    double accesses_per_s[REPETITIONS_MAX]; /* of the workers beside */
    /* Of all repetitions together. */
    uint64_t calls;
    struct node_figures here, there; /* what both processes used */
};

struct bench {
    struct run run;
    bool calls_only; /* no floors */
    /* single: how long one-key calls are timed, for their percentiles */
    uint64_t warm_ns, timed_ns, single_ns;

    struct node node;
    struct node_process *other, *raw; /* node 1; the other end of raw connections */
    /* FLIGHT_MAX calls of the largest kind; the raw connections' buffer, too */
    float *values;
    size_t next_key; /* of the sequence */

    struct cell cells[STEPS]; /* of this setting */
};

/* ---- Selection and sizes (select.c) ---- */

uint64_t rows_of(enum phase phase, bool is_quick, unsigned length);
size_t row_bytes(unsigned length);
void step_name(char *name, size_t capacity, struct setting at, unsigned step);
bool step_selected(const struct bench *b, struct setting at, unsigned step);
bool setting_selected(const struct bench *b, struct setting at);
bool idle_selected(const struct bench *b);
/* Bytes that a ping-pong sends there and back for one call: as many as frames with these keys would
 * have. */
uint64_t request_bytes(struct setting at);
uint64_t answer_bytes(struct setting at);
size_t values_bytes_max(void);

/* ---- Doing it ---- */

/* What node 1 answers to a question with one number. */
uint64_t ask(struct bench *b, uint64_t what, uint64_t number);
void setting_measure(struct bench *b, struct setting at);
void floor_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition);
void access_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition);
void relocate_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition);
void gather_there(struct bench *b, unsigned length); /* node 1 has all rows of this length */
void idle_measure(struct bench *b);

void report_setting(struct bench *b, struct setting at); /* report.c: lines of JSON */

#endif
