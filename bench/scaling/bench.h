/*
 * bench.h - what the parts of the scaling benchmark share: steps, settings, results.
 *
 * A setting is a number of shards, a skew and a placement. In each, every step is timed with 1, 2,
 * 4 ... N threads, floors and locus in turn, again in each repetition. One step with so many
 * threads in a setting is a cell.
 *
 * Memory    one struct bench, static; rows and keys come and go with each number of shards
 * Waiting   for what is measured
 */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H

#include "../common/floors.h"
#include "../common/keys.h"
#include "../common/must.h"
#include "../common/run.h"
#include "../common/team.h"
#include "model.h"

#include "base/pinning.h"
#include "locus.h"

#include <sched.h>

enum { SKEWS = 2, TEAMS = 10, SHARDS = 2, BATCH = FLOOR_BATCH };

/* ---- Steps: what is timed (steps.c) ---- */

enum step_id { ARRAY_READ, ATOMIC_READ, PULL, ARRAY_ADD, ATOMIC_ADD, PUSH, STEPS };

struct lane {
    locus_worker *worker;
    struct floors *floors;
    uint64_t *keys;
    float *batch; /* BATCH rows */
    int rc;       /* the first failure */
};

struct step {
    const char *name;
    void (*work)(struct lane *, const uint64_t *keys, size_t n);
    bool writes, is_locus;
};
extern const struct step steps[STEPS];

/* ---- Placement (places.c) ---- */

/* Wherever the system puts a thread; pinned to neighbouring cores; pinned to each socket in turn.
 * Cores before their hyper-threads. */
enum place_choice { FREE, PACKED, SPREAD, PLACES };
extern const char *const place_names[PLACES];

struct bench {
    struct run run;
    unsigned length; /* floats of a row */
    uint64_t rows;
    size_t keys; /* of a thread, timed */
    unsigned teams[TEAMS], team_count;
    unsigned shards[SHARDS], shard_count;

    struct model model;
    const char *machine;
    unsigned model_workers;

    struct pinning_machine here;
    cpu_set_t all;               /* what the process may use */
    int order[PLACES][TEAM_MAX]; /* the unit of each thread */
    unsigned socket_of[PLACES][TEAM_MAX];
    unsigned units;

    locus *node;
    struct floors *floors;
    struct lane lanes[TEAM_MAX];
    size_t sequence, sequence_at;

    struct cell {
        bool measured;
        double ns[SPREAD_MAX];    /* a key, of all threads together: 1 / throughput */
        struct spread time, gain; /* gain: against one thread in the same repetition */
    } cells[SHARDS][SKEWS][PLACES][STEPS][TEAMS];
};

void places_open(struct bench *b);
void places_close(struct bench *b);
/* The calling thread becomes this lane. */
void place_lane(const struct bench *b, enum place_choice place, unsigned lane);
void place_nowhere(const struct bench *b);

/* ---- Selection and sizes (cells.c) ---- */

void cell_name(char *name, size_t capacity, const struct bench *b, unsigned shards, unsigned skew,
               unsigned place, unsigned step, unsigned team);
bool shards_selected(const struct bench *b, unsigned shards);
bool anything_selected(const struct bench *b);
void setting_measure(struct bench *b, unsigned shards, unsigned skew, unsigned place);

/* ---- The node (node.c) ---- */

/* A node with so many shards and an array, all rows written; ends the program when a call fails. */
void node_open(struct bench *b, unsigned shards);
void node_close(struct bench *b);
void draw_keys(struct bench *b, enum key_choice choice);
/* index of a part of each lane's sequence that was not used just now */
size_t next_keys(struct bench *b, size_t keys);

/* ---- Results (report.c) ---- */

/* With the sockets and cores of --machine, or of this one. */
struct model model_machine(const struct bench *b);
void report_start(const struct bench *b);
void report_skew(const struct bench *b, unsigned shards, unsigned skew);
void report_model(const struct bench *b);
void report_svg(const struct bench *b);

#endif
