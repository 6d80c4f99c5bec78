/*
 * training.h - what all training programs have in common: the job, from the command line to the
 * exit status, and the loop over epochs. A program is a struct training_kind: its options, its data,
 * its step, its evaluation, and what it says of them.
 *
 * The job: options, load, tables, the pool opens, ready, start, the workers, unload. A worker:
 * begin; in each epoch steps, flush, report, judge, a checkpoint, evaluate; end, save, close.
 *
 * In a job that survives the loss of nodes all workers meet behind each epoch (and before the first
 * one). If a node was lost since, or one has come, all rest and begin again, each with its share
 * among those that are there: as from a checkpoint, but of the rows as they are. What a lost node
 * had not done of its epoch nobody does. A newcomer begins with that meeting. A program that cannot
 * rest, as its workers have what no row has, ends with a loss.
 *
 * Callers   training_run(): main(), or each node of a simulation. Hooks of a worker run on its
 *           thread; those that every worker of every node calls may be collectives
 * Memory    the program's struct, and a worker's state, both zeros at first
 * Waiting   for all workers at the end of each epoch
 * Life      one run. Any failure ends the program with a sentence
 */
#ifndef APPS_TRAINING_H
#define APPS_TRAINING_H

#include "checkpoints.h"
#include "figures.h"
#include "meter.h"
#include "settings.h"

struct training;

/* A worker, for the hooks. */
struct training_worker {
    struct training *training;
    struct pool_member *member;
    void *program, *state;
    struct progress progress;
    /* Of an epoch, or of a part of one: how much this worker has to do, for the learning rate; in
     * clocks that the options say, unless `clocks` does, for bounded staleness. */
    uint64_t total, clocks;
    uint64_t steps; /* so far: the first ones are shorter (rate_among()) */
    /* The loop's, of the part: so many of its breaks are over, and all steps are done. */
    uint64_t breaks;
    bool is_through;
    double evaluated; /* when, or where: seconds, epochs */
    uint64_t judged;  /* steps, of the model that was evaluated last */
    bool is_outside; /* a newcomer's, before its first meeting; and others' who have yet to begin */
    bool leaves;     /* its node was told to */
};

/* What a worker has trained with. A step adds to it. */
struct training_sums {
    double examples, loss;
    double more;   /* the program's */
    uint64_t done; /* of the worker's total */
};

/* Of all workers. */
struct training_epoch {
    const struct training *training;
    uint64_t number;
    double examples, loss, more, seconds;
    bool is_whole; /* not cut short by --seconds or a loss */
};

enum { TRAINING_MODEL_TABLES = 2 };

struct training_kind {
    const char *name;         /* "locus-mf" */
    const char *about, *more; /* for --help */
    const char *unit;         /* "cells": what is trained with */
    const char *rate;         /* "Cells trained a second": its curve */
    size_t program_bytes, worker_bytes;
    bool heeds_ahead; /* loaders heed world_ahead() */

    /* ---- the job ---- */

    /* Defaults, and the list of options but those for checkpoints. */
    struct settings *(*options)(void *program);
    /* What does not go together ends the program; values that follow from others. */
    void (*check)(void *program);
    void (*load)(void *program);
    size_t (*tables)(void *program, struct locus_table *); /* returns how many */
    struct settings_digest (*digest)(const void *program);
    void (*ready)(void *program, struct training *); /* the pool is open; NULL: nothing to do */
    void (*start)(const void *program, const struct pool *); /* says what it is about to do */
    void (*unload)(void *program);

    /* ---- every worker ---- */

    pool_work *work; /* instead of all that follows; the context is the struct training */
    /* First values, unless it goes on from a checkpoint; then what the first epoch needs. */
    void (*begin)(struct training_worker *, bool goes_on);
    void (*epoch)(struct training_worker *); /* one begins; NULL: nothing to do */
    /* Returns whether it was the last of the epoch, or of its part. */
    bool (*step)(struct training_worker *, struct training_sums *);
    void (*flush)(struct training_worker *); /* all updates are complete; NULL: they are */
    void (*report)(void *program, const struct training_epoch *); /* the first worker alone */
    /* Is the model to be the one that was best on other data? Then how good it is (the larger the
     * better; the first worker's counts), which it says: as --eval-every says, at the end, and
     * before a checkpoint, of which what was kept is part. NULL: it is the last one. */
    bool (*chooses)(const void *program);
    double (*validate)(struct training_worker *);
    /* The first so many floats of a row of its two tables, the first ones, are the model. */
    void (*parameters)(const void *program, size_t floats[TRAINING_MODEL_TABLES]);
    /* What else is kept of the best model, and taken again. NULL: nothing. */
    void (*keep)(struct training_worker *);
    void (*take)(struct training_worker *);
    void (*checkpoint)(struct training_worker *); /* what else is to be in one; NULL: nothing */
    /* Instead of validate(), where nothing is chosen, and not at the end. NULL: validate(). */
    void (*evaluate)(struct training_worker *);
    void (*end)(struct training_worker *);   /* the last evaluation */
    void (*save)(struct training_worker *);  /* the first worker alone */
    void (*close)(struct training_worker *); /* NULL: nothing to do */
    /* What `begin` opened is closed: it may be called again, for another share, behind whole epochs.
     * NULL: a loss ends the training. */
    void (*rest)(struct training_worker *);
};

/* The hooks that all programs have, by these names: of the job; of the loop. */
#define TRAINING_JOB \
    .options = options, .check = check, .load = load, .tables = tables, .digest = digest, \
    .ready = ready, .start = start, .unload = unload
#define TRAINING_LOOP .begin = begin, .step = step, .report = report, .end = end, .save = save

/* A node's. */
struct training {
    const struct training_kind *kind;
    void *program;
    const struct settings *settings;
    struct pool *pool;
    /* What `ready` may set: */
    uint64_t examples;  /* of an epoch */
    const char *sweeps; /* an epoch is one step: the meter shows so many of these, not examples */
    bool is_whole;      /* who has begun an epoch trains it to its end */
    uint64_t epochs;    /* wanted */
    uint64_t parts_max; /* of an epoch, between which there may be a checkpoint */
    bool is_unjudged;   /* there is nothing to evaluate by: --eval-every has no effect */
    /* The loop's: */
    struct meter meter;
    struct checkpoints checkpoints;
    uint64_t breaks; /* of a part, between which all workers meet and may evaluate */
    size_t kept;     /* the first table of the best model; 0: it is not kept */
    bool has_diverged;
    double began_s;           /* as if all had been trained in this run */
    uint64_t examples_before; /* in this epoch, when its part began */
    struct counters counters; /* the node's */
};

/* Returns the exit status. */
int training_run(const struct training_kind *, int argc, char **argv);

/* For tests: a program that is loaded, in a pool that is open; training_work() is a pool_work, whose
 * context is the struct training. */
void training_open(struct training *, const struct training_kind *, void *program,
                   const struct settings *, struct pool *);
void training_work(struct pool_member *, void *training);

/* Is it the first worker of rank 0? */
static inline bool training_is_first(const struct training_worker *w)
{
    return w->member->place == 0;
}

/* Epochs that are over, with the share of one that is not. */
double training_epochs(const struct training_worker *);
/* Those that the model has had; 0: none. */
double training_epoch_of(const struct training_worker *);
/* A table of rows that are changed; of rows that take AdaGrad's steps. */
struct locus_table training_table(const char *name, uint64_t rows, size_t length);
struct locus_table training_adagrad(const char *name, uint64_t rows, size_t length, double rate);
/* --technique nups: keeps the hot ones of all keys, by how often each is used. */
void training_keep_hot(const struct training_worker *, size_t keys,
                       void (*count)(const void *program, uint64_t *count));
/* The epoch's line: the first figure, seconds and examples a second, then the others. */
void training_say_epoch(const struct training_epoch *, const struct figure *, size_t count);

#endif
