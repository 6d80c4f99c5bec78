/*
 * bench.h - what the parts of the local access benchmark share: the steps, the watches, and the
 * node.
 *
 * Memory    one struct bench, static; rows and keys come and go with each row length
 */
#ifndef BENCH_LOCAL_ACCESS_H
#define BENCH_LOCAL_ACCESS_H

#include "../common/floors.h"
#include "../common/keys.h"
#include "../common/must.h"
#include "../common/run.h"
#include "../common/team.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

enum { BATCH = FLOOR_BATCH };

/* ---- Steps: what is timed (steps.c) ---- */

/* What a thread has of its own. */
struct lane {
    locus_worker *worker;
    struct floors *floors;
    uint64_t *keys;    /* its random keys, drawn before the clock starts */
    float *batch;      /* BATCH rows */
    size_t length;     /* floats a row */
    unsigned per_call; /* keys a call */
    int rc;            /* the first failure */
    double digest;     /* of what was read in place, so that nothing is optimized away */
};

/* Does something with n keys, a multiple of BATCH. */
typedef void lane_work(struct lane *l, const uint64_t *keys, size_t n);

/* Neighbours run one after the other, so a step's floor is close to it in time. */
enum { STEPS = 23 };
extern const struct step {
    const char *name;
    unsigned per_call; /* 0: the step makes no calls */
    lane_work *work;
    const char *floor; /* what it is compared with */
    bool in_chart;
} steps[STEPS];

void lane_note(struct lane *l, int rc); /* remembers the first failure */

/* ---- Watches: single pulls while another thread adds to rows, or none does (tails.c) ---- */

enum watch_keys { ONE_ROW, EVEN, SKEWED };
struct watch {
    enum watch_keys keys;
    bool writer; /* pushes to keys of the same choice, as fast as it can */
};

enum { WATCHES = 5 };
extern const struct watch watches[WATCHES];

void measure_tail(struct cell *);

/* ---- The node, the array beside it, and what each thread has (node.c) ---- */

extern struct bench {
    unsigned workers;
    struct lane lanes[TEAM_MAX];
    locus *node;
    struct floors *floors;
    size_t sequence;    /* keys in each lane's sequence */
    size_t sequence_at; /* where the next step begins in it */
} bench;

uint64_t rows_of(uint32_t length);
/* Rows of this length, all written, in the array as well; the cell says what memory they take. */
void node_open(uint32_t length, struct cell *);
void node_close(void);
void draw_keys(enum key_choice choice, uint64_t rows);
/* Index of a part of each lane's sequence that was not used just now. */
size_t next_keys(size_t keys);
void batches_reset(void);
double digest_take(unsigned lanes);

#endif
