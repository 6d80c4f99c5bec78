/*
 * bench.h - what the parts of the local access benchmark share: the steps, the settings, and the
 * results.
 *
 * A setting is a row length, a choice of keys and a number of threads. In each setting every step
 * is timed in every repetition, floors and locus in turn, so that a noisy moment meets both. One
 * step in one setting is a cell.
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
#include "../common/times.h"

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LENGTHS = 4, CHOICES = 2, TEAMS = 2, BATCH = FLOOR_BATCH };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 1, 16, 128, 1000 */

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
enum step_id {
    ARRAY_READ,
    PULL_1,
    PULL_64,
    MUTEX_READ,
    ARRAY_ADD,
    PUSH_1,
    PUSH_64,
    CHANGE_1,
    CHANGE_FETCHED, /* after locus_prefetch() of the 64 keys */
    MUTEX_ADD,
    ARRAY_SUM,
    VIEW_1,
    VIEW_64,
    VIEW_FETCHED, /* after locus_prefetch() of the 64 keys */
    ARRAY_WRITE,
    SET_1,
    SET_64,
    INTENT_1,
    INTENT_64,
    STEPS,
    NO_FLOOR = STEPS,
};

struct step {
    const char *name;
    unsigned per_call; /* 0: the step makes no calls */
    lane_work *work;
    enum step_id floor; /* what it is compared with */
    bool in_demo;
};

extern const struct step steps[STEPS];

void lane_note(struct lane *l, int rc); /* remembers the first failure */

/* ---- Watches: single pulls while another thread adds to rows, or none does (tails.c) ---- */

enum watch_keys { ONE_ROW, EVEN, SKEWED };
struct watch {
    enum watch_keys keys;
    bool writer; /* pushes to keys of the same choice, as fast as it can */
};

enum { WATCHES = 5, ONE_ROW_WRITER = 1 };
extern const struct watch watches[WATCHES];

enum store { LOCUS, MUTEX, STORES };

/* ---- Results ---- */

struct cell {
    bool measured;
    double ns[REPETITIONS_MAX]; /* a key, one for each repetition */
    double digest;
};

struct tail {
    bool measured;
    struct times times;
    double pushes[REPETITIONS_MAX]; /* of the writer for each pull */
};

struct bench {
    struct run run;
    unsigned teams[TEAMS]; /* numbers of threads */
    unsigned team_count;
    unsigned workers;

    struct lane lanes[TEAM_MAX];
    locus *node;
    struct floors *floors;
    size_t sequence;    /* keys in each lane's sequence */
    size_t sequence_at; /* where the next step begins in it */

    struct cell cells[LENGTHS][CHOICES][TEAMS][STEPS];
    struct tail tails[LENGTHS][WATCHES][STORES];
    double bytes_beside[LENGTHS]; /* a key, beside its values */
};

/* ---- Selection and sizes (select.c) ---- */

uint64_t rows_of(const struct bench *b, uint32_t length);
size_t keys_of_step(const struct bench *b, uint32_t length);
void cell_name(char *name, size_t capacity, const struct bench *b, unsigned length,
               enum key_choice choice, unsigned team, enum step_id step);
void tail_name(char *name, size_t capacity, unsigned length, unsigned watch, enum store store);
bool cell_selected(const struct bench *b, unsigned length, enum key_choice choice, unsigned team,
                   enum step_id step);
bool setting_selected(const struct bench *b, unsigned length, enum key_choice choice,
                      unsigned team);
bool tail_selected(const struct bench *b, unsigned length, unsigned watch, enum store store);
bool memory_selected(const struct bench *b, unsigned length);
bool length_selected(const struct bench *b, unsigned length);

/* ---- Doing it ---- */

/* node.c: opens a node and an array of this row length, all rows written; ends the program when a
 * call fails. */
void node_open(struct bench *b, unsigned length);
void node_close(struct bench *b);
void draw_keys(struct bench *b, enum key_choice choice, uint64_t rows);
/* index of a part of each lane's sequence that was not used just now */
size_t next_keys(struct bench *b, size_t keys);
void batches_reset(struct bench *b);
double digest_take(struct bench *b, unsigned lanes);

/* cells.c */
void setting_measure(struct bench *b, unsigned length, enum key_choice choice, unsigned team);
/* tails.c */
void tails_measure(struct bench *b, unsigned length, enum key_choice choice);

/* report.c: lines of JSON, as results come. */
void report_setting(struct bench *b, unsigned length, enum key_choice choice, unsigned team);
void report_tails(struct bench *b, unsigned length);
void report_memory(struct bench *b, unsigned length);

#endif
