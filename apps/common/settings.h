/*
 * settings.h - the options that all training programs have, and the pool that they ask for.
 *
 * Some have a place of their own among a program's options, or words and a range of its own: those
 * are made one by one, for the program to put into its table.
 *
 * Callers   main(), before args_parse() and after; workers read
 * Memory    texts belong to argv
 * Waiting   settings_open_pool() for all nodes
 */
#ifndef APPS_SETTINGS_H
#define APPS_SETTINGS_H

#include "args.h"
#include "checkpoints.h"
#include "pool.h"

/* What not every program has. */
enum settings_has {
    SETTINGS_EPOCHS = 1, /* --epochs */
    SETTINGS_FULL = 2,   /* --technique full */
    SETTINGS_HOT = 4,    /* --technique nups, --hot */
    SETTINGS_BOUNDS = 8, /* --technique ssp and essp, --staleness, --clocks */
};
enum { SETTINGS_TECHNIQUES = 8 };

struct settings {
    uint64_t workers, seed, epochs;
    uint64_t spare;               /* workers of each node for schedulers */
    uint64_t eval_every, seconds; /* 0: never; no limit */
    int technique;                /* enum locus_technique, or one more: nups, ssp, essp */
    const char *hot;              /* which keys nups replicates: hot.h */
    uint64_t staleness, clocks;   /* of ssp and essp: pace.h */
    uint64_t max_rounds;          /* a second, of those that synchronize; 0: the manager decides */
    unsigned has;                 /* of enum settings_has */
    const char *techniques[SETTINGS_TECHNIQUES + 1]; /* those offered; "" for others */
    int sampling;                                    /* enum locus_conformity */
    const char *data, *out, *report;
    bool json, is_baseline;
    struct checkpoints_wish checkpoints; /* of programs that have checkpoints_options() */
};

/* Defaults; LOCUS_WORKERS of the environment is the number of workers. An option that a program has
 * no use for is not offered: `has` says which it has, of enum settings_has. */
void settings_init(struct settings *, unsigned has);

/* Adds --seed, --workers, --technique, --max-rounds, --out, --report, --json and --baseline, and
 * what the program has besides. */
void settings_options(struct settings *, struct args_list *);

/* One option each: --data, --sampling, --eval-every, --seconds. */
struct args_option settings_data(struct settings *, const char *help);
struct args_option settings_sampling(struct settings *);
struct args_option settings_eval_every(struct settings *, const char *help);
struct args_option settings_seconds(struct settings *, const char *help);
/* --batch and --lr, whose targets are the program's. */
struct args_option settings_batch(uint64_t *target, double max, const char *help);
struct args_option settings_rate(double *target, const char *help);

/* args_parse() of the options in the list. */
void settings_parse(const struct args_list *, const char *name, const char *about, const char *more,
                    int argc, char **argv);
/* For programs that learn from --data, or from what their own `option` makes up, whose value is
 * `made`: exactly one of them. `what` the data are, for the sentence. Ends the process
 * otherwise. */
void settings_check_source(const struct settings *, const char *what, const char *option,
                           const char *made);
/* What does not go together ends the program. */
void settings_check(const struct settings *);
/* Is there an evaluation after this epoch, before the one at the end? */
bool settings_wants_evaluation(const struct settings *, uint64_t epoch);
/* Shall this epoch be compared with the best one so far (best.h)? The last one is, too. */
bool settings_wants_choice(const struct settings *, uint64_t epoch, bool is_last);

/* How locus manages them. */
enum locus_technique settings_technique(const struct settings *);
/* By replicas that are missed first (--technique ssp and essp: pace.h). */
bool settings_is_bounded(const struct settings *);
/* Shall each node keep the hot keys (--technique nups)? Then one worker of each does, before
 * training; the number of each count is its key. */
bool settings_keeps(const struct settings *);
void settings_keep(const struct settings *, const struct pool_member *, const uint64_t *count,
                   size_t keys);

const char *settings_technique_name(int technique);
const char *settings_sampling_name(int sampling);

/* `digest` is of the data and of the program's own options: what must be equal on all nodes. */
void settings_open_pool(const struct settings *, struct pool *, const struct locus_table *tables,
                        size_t table_count, uint64_t digest);
/* A line for people: nodes, workers and technique, or that it is the baseline. */
void settings_show_pool(const struct settings *, const struct pool *, bool has_samples);

#endif
