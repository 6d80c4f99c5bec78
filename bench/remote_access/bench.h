/*
 * bench.h - what the parts of the remote access benchmark share: the steps, the settings, and the
 * results.
 *
 * Three processes: node 0, which is the benchmark itself and whose worker asks; node 1, which owns
 * all rows that are asked for and whose worker waits in a barrier; and the other end of the raw
 * connections that serve as floors. A setting is a row length and a number of keys a call. In each
 * setting every step is timed in every repetition, floors and locus in turn, so that a noisy moment
 * meets both. One step in one setting is a cell.
 *
 * Memory    one struct bench, static; rows and buffers live as long as the cluster
 */
#ifndef BENCH_REMOTE_ACCESS_H
#define BENCH_REMOTE_ACCESS_H

#include "../common/must.h"
#include "../common/node_process.h"
#include "../common/run.h"
#include "../common/times.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LENGTHS = 3, BATCHES = 3, FLIGHT_MAX = 8 };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 16, 128, 1000 */
extern const unsigned batches[BATCHES]; /* keys a call: 1, 64, 1024 */

/* ---- Steps: what is timed (select.c) ---- */

/* Neighbours run one after the other, so the floors are close to the calls in time. */
enum step_id {
    PINGPONG_SPIN,
    PULL_1,
    PUSH_1,
    SET_1,
    PINGPONG_SPIN_PINNED,
    PULL_8,
    STREAM_64K,
    STREAM_64K_PINNED,
    PUSH_8,
    STREAM_1M,
    STREAM_1M_PINNED,
    SET_8,
    PINGPONG_BLOCK,
    PINGPONG_BLOCK_PINNED,
    STEPS,
};

enum step_kind { PULL, PUSH, SET, PINGPONG, STREAM };
struct step {
    const char *name; /* the first words of the cell's name */
    enum step_kind kind;
    unsigned flight; /* calls in flight; 0: a floor */
    bool spins;      /* ping-pong: both ends poll their sockets instead of sleeping in them */
    bool pinned;     /* a floor: each end on a processor of its own */
    unsigned bytes;  /* stream: of a write */
};
extern const struct step steps[STEPS];

struct bench;

/* ---- Results ---- */

/* What two processes used: node 0 and the one at the other end. */
struct usage {
    struct node_figures here, there;
};
struct usage usage_now(const struct bench *b, struct node_process *other);

struct cell {
    bool measured;
    /* One for each repetition. */
    struct times times;             /* of the calls */
    double bytes_per_s[SPREAD_MAX]; /* of row values; of a stream, all bytes */
    /* Of all repetitions together, warming up included. */
    uint64_t calls;
    struct usage used;
};

struct idle {
    bool measured;
    struct usage used;
};

/* What node 1 is asked, beside NODE_FIGURES. */
enum { NODE_LEAVE = 1 };

struct bench {
    struct run run;
    bool calls_only; /* no floors */
    /* single: how long one-key calls are timed, for their percentiles */
    uint64_t warm_ns, timed_ns, single_ns;

    struct node_process *other, *raw; /* node 1; the other end of raw connections */
    locus *node;
    locus_worker *worker;

    locus_key *keys[LENGTHS]; /* random keys of node 1's rows */
    size_t sequence;          /* so many of each length */
    size_t sequence_at;       /* where the next call begins in it */
    /* FLIGHT_MAX calls of the largest kind; the raw connections' buffer, too */
    float *values;
    size_t values_per_call;

    struct cell cells[LENGTHS][BATCHES][STEPS];
    struct idle idle;
};

/* ---- Selection and sizes (select.c) ---- */

uint64_t rows_of(const struct bench *b, unsigned length);
size_t row_bytes(unsigned length);
void step_name(char *name, size_t capacity, unsigned length, unsigned batch, enum step_id step);
bool step_selected(const struct bench *b, unsigned length, unsigned batch, enum step_id step);
bool setting_selected(const struct bench *b, unsigned length, unsigned batch);
bool idle_selected(const struct bench *b);
bool anything_selected(const struct bench *b);
/* Bytes that a ping-pong sends there and back for one call: as many as frames with these keys would
 * have. */
uint64_t request_bytes(unsigned batch);
uint64_t answer_bytes(unsigned length, unsigned batch);
size_t values_bytes_max(void);

/* ---- Doing it ---- */

/* node.c: opens node 0, beside node 1 in another process; ends the program when a call fails. */
void node_open(struct bench *b);
void node_close(struct bench *b);
void node_config(struct locus_config *c, struct locus_table tables[LENGTHS], const struct bench *b,
                 int rank, const char *rendezvous);

/* raw.c: a floor */
void raw_measure(struct bench *b, unsigned length, unsigned batch, enum step_id step,
                 unsigned repetition);

/* cells.c */
void usage_note(struct cell *c, const struct usage *before, const struct usage *after);
void setting_measure(struct bench *b, unsigned length, unsigned batch);

void idle_measure(struct bench *b); /* idle.c */

int other_node(int argc, char **argv); /* other_node.c: the other node's main() */

/* report.c: tables and JSON lines as results come. */
void report_start(const struct bench *b);
void report_setting(const struct bench *b, unsigned length, unsigned batch);
void report_idle(const struct bench *b);

/* ---- What the repetitions say together (verdict.c) ---- */

/* Of each repetition the better one: of both spinning ping-pongs (ns, median), of all streams
 * (bytes a second). */
void best_pingpong(const struct bench *b, unsigned length, unsigned batch,
                   double floor[SPREAD_MAX]);
void best_stream(const struct bench *b, unsigned length, unsigned batch, double floor[SPREAD_MAX]);

void summary_targets(const struct bench *b); /* summary.c */
void summary_svg(const struct bench *b);

#endif
