/*
 * checkpoint.h - checkpoints of simulated clusters: what their parts say to each other.
 *
 * Callers   the sources of this program
 * Memory    static
 * Waiting   as fibers
 */
#ifndef LOCUS_TEST_SIM_CHECKPOINT_H
#define LOCUS_TEST_SIM_CHECKPOINT_H

#include "locus.h"

#include "sim/fibers.h"
#include "../seeds.h"

#include <stdbool.h>

enum { KEYS_MAX = 14, LENGTH_MAX = 9, TABLES_MAX = 3, ROUNDS_MAX = 4 };
#define FOLDER "model"

/* All rows as they should be. */
struct picture {
    float row[KEYS_MAX][LENGTH_MAX];
};

/* What clusters of one seed have in common. */
struct tables {
    struct locus_table table[TABLES_MAX];
    unsigned count, keys;
    uint32_t length[KEYS_MAX]; /* of each key's row */
};

struct shape {
    unsigned nodes, workers, shards;
    enum locus_technique technique;
    bool acts_immediately, survives; /* the loss of a node */
};

/* ---- story.c ---- */

/* A seed. */
void story_run(uint64_t seed);
/* What is printed of all. */
struct counts {
    uint64_t checkpoints, restores, failed, crashes, of_the_old, of_the_new, relocations, replicas;
    uint64_t lost, exact;   /* nodes; what was compared then to the bit */
    uint64_t changed, told; /* disks that changed a byte while it was read; rows were being set */
};
extern struct counts counts;

void story_draw_tables(struct tables *, struct dice *);

/* ---- losses.c ---- */

/* Another one, of a cluster that loses a node around a checkpoint or a restore, and goes on. */
void losses_run(uint64_t seed);

/* ---- cluster.c ---- */

struct member {
    locus *node;
    locus_worker *worker;
    locus_loader *loader;
    unsigned number, total; /* among all workers */
    struct dice dice;
    bool is_in_call; /* of those that are simulated: its loader is busy then */
};

/* Opens a cluster, has `work` done by a fiber for each worker, and closes it. */
typedef void cluster_work(struct member *);
bool cluster_is_lost(const struct member *);
void cluster_run(const struct tables *, const struct shape *, struct dice, cluster_work *);

/* ---- faults.c ---- */

/* A disk in memory whose calls take their time. */
void faults_begin(struct dice);
void faults_end(void);
/* One of the next calls fails, or none does. */
void faults_arm(bool is_wanted);
/* The errno of the one that failed since then; 0: none did. */
int faults_met(void);
/* Crashes at some calls from now on: copies of the disk as it would be found. Says which pictures
 * may be found on it. */
struct found {
    struct disk *disk;
    int old, new; /* checkpoints; -1: there is none */
};
enum { FOUND_MAX = 4 };
void faults_crash(unsigned times);
unsigned faults_found(struct found found[FOUND_MAX]);

/* A byte of a file with rows changes when such a file is opened once more for so many times. Has it
 * changed by then? */
void faults_change(unsigned opening);
bool faults_has_changed(void);
/* A byte of the first file with rows that is opened changes, and one of the first of another
 * checkpoint, of so many. */
void faults_damage(unsigned checkpoints);

/* Of the story: the last checkpoint that is whole for sure, and one that is being written, or may
 * be whole; -1. */
extern int story_old, story_new;

#endif
