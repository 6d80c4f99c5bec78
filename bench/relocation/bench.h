/*
 * bench.h - what the parts of the relocation benchmark share: the steps, the two nodes, and the
 * results.
 *
 * Three processes: node 0, which is the benchmark itself; node 1, which does what it is asked; and
 * the other end of the raw connections that serve as floors. Both nodes have two workers: one takes
 * rows, the other one accesses rows meanwhile, where the step says so. For every row length there
 * is one table, all of whose keys stand in one shuffled sequence, the same at both nodes; a block
 * is BLOCK_KEYS neighbours in it. One step at one length is a cell.
 *
 * Memory    one struct bench, static; rows and buffers live as long as the cluster
 */
#ifndef BENCH_RELOCATION_H
#define BENCH_RELOCATION_H

#include "../common/must.h"
#include "../common/node_process.h"
#include "../common/run.h"
#include "../common/times.h"

#include "locus.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LENGTHS = 3, BLOCK_KEYS = 1000, FLIGHT_MAX = 8 };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 16, 128, 1000 */

/* ---- Steps: what is timed (select.c) ---- */

/* Neighbours run one after the other, so the floors are close to the calls in time. */
enum step_id {
    PINGPONG,
    LOCALIZE_1,
    PINGPONG_PINNED,
    LOCALIZE_BLOCK,
    STREAM_64K,
    STREAM_64K_PINNED,
    BLOCKS,
    STREAM_1M,
    STREAM_1M_PINNED,
    EXCHANGE,
    LOCALIZE_1_BUSY,
    LOCALIZE_BLOCK_BUSY,
    BLOCKS_BUSY,
    EXCHANGE_BUSY,
    STEPS,
};

enum step_kind {
    ROUND_TRIP, /* floor: the bytes of a localize there and back */
    ONE_WAY,    /* floor: a stream */
    ONE_BY_ONE, /* node 0 takes one row after the other */
    BY_BLOCKS,  /* node 0 takes block after block */
    TO_AND_FRO, /* node 0 takes all blocks, then node 1 takes them back, several calls in flight */
    AT_ONCE,    /* both do at once: each takes the half that the other has */
};
struct step {
    const char *name; /* the first words of the cell's name */
    enum step_kind kind;
    bool pinned;    /* a floor: each end on a processor of its own */
    unsigned bytes; /* ONE_WAY: of a write */
    bool is_busy;   /* a second worker at each node pulls and pushes the same rows meanwhile */
};
extern const struct step steps[STEPS];

static inline bool is_floor(enum step_id step)
{
    return steps[step].kind == ROUND_TRIP || steps[step].kind == ONE_WAY;
}

/* ---- A node: what both processes have (node.c, takes.c, accesses.c) ---- */

/* The worker that accesses rows, on a thread of its own. */
struct accesses {
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
    locus *locus;
    locus_worker *worker;
    locus_key *keys[LENGTHS]; /* rows_of() of them */
    struct accesses accesses;
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

void node_open(struct node *n, bool is_quick, int rank, const char *rendezvous);
void node_close(struct node *n);

/* Times of the calls, less `clock_cost` each, go to `times`, which may be NULL. */
struct taken take_rows(struct node *n, const struct take *t, uint64_t clock_cost,
                       struct latency *times);

/* The other worker: pulls and pushes random rows of this length from now on, until accesses_end. */
void accesses_open(struct accesses *a, locus *node);
void accesses_begin(struct accesses *a, const locus_key *keys, size_t count);
void accesses_end(struct accesses *a); /* returns when it rests */
uint64_t accesses_done(const struct accesses *a);
void accesses_close(struct accesses *a);

/* What node 1 is asked, beside NODE_FIGURES. The numbers of NODE_TAKE are a struct take; it is
 * answered before it is done, NODE_TAKEN after. */
enum { NODE_TAKE = 1, NODE_TAKEN, NODE_ACCESS, NODE_REST, NODE_LEAVE };
int other_node(int argc, char **argv); /* other_node.c: its main() */

/* ---- Results ---- */

/* What both nodes used. */
struct usage {
    struct node_figures here, there;
    uint64_t accesses; /* keys, of both */
};

struct cell {
    bool measured;
    /* One for each repetition. */
    struct times times;       /* of the calls */
    double per_s[SPREAD_MAX]; /* relocations; of a stream, bytes */
    double accesses_per_s[SPREAD_MAX];
    /* Of all repetitions together. */
    uint64_t calls, keys;
    struct usage used;
};

struct bench {
    struct run run;
    bool calls_only; /* no floors */
    uint64_t warm_ns, timed_ns;

    struct node node;
    struct node_process *other, *raw; /* node 1; the other end of raw connections */
    char *buffer;                     /* the raw connections' */

    struct cell cells[LENGTHS][STEPS];
};

/* ---- Selection and sizes (select.c) ---- */

uint64_t rows_of(bool is_quick, unsigned length);
size_t row_bytes(unsigned length);
void step_name(char *name, size_t capacity, unsigned length, enum step_id step);
bool step_selected(const struct bench *b, unsigned length, enum step_id step);
bool length_selected(const struct bench *b, unsigned length);
/* Bytes of a localize of one row, and of the row that comes. */
uint64_t request_bytes(void);
uint64_t answer_bytes(unsigned length);
size_t raw_bytes_max(void);

/* ---- Doing it ---- */

/* floors.c */
void floor_measure(struct bench *b, unsigned length, enum step_id step, unsigned repetition);
/* cells.c */
void length_measure(struct bench *b, unsigned length);

void report_start(const struct bench *b); /* report.c */
void report_length(const struct bench *b, unsigned length);

/* ---- What the repetitions say together (summary.c) ---- */

/* The values (ns), each divided by the better of both ping-pongs of the same repetition. */
struct spread to_pingpong(const struct bench *b, unsigned length, const double *values);
/* Row bytes a second, as a share of the best stream of the same repetition. */
struct spread share_of_stream(const struct bench *b, unsigned length, enum step_id step);

void summary_targets(const struct bench *b);
void summary_svg(const struct bench *b);

#endif
