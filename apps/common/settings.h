/*
 * settings.h - the options that all training programs have, and the pool that they ask for.
 *
 * Those with words of a program's own (--data, --sampling) the program puts
 * into its table.
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
#include "rate.h"

/* What not every program has. */
enum settings_has {
    SETTINGS_EPOCHS = 1, /* --epochs, --eval-every, --seconds */
    SETTINGS_FULL = 2,   /* --technique full */
    SETTINGS_HOT = 4,    /* --technique nups, --hot */
    SETTINGS_BOUNDS = 8, /* --technique ssp and essp, --staleness */
    SETTINGS_PATIENCE = 16,
    SETTINGS_RATE = 32, /* --schedule: rate.h; --element */
};
enum { SETTINGS_TECHNIQUES = 8, SETTINGS_INPUTS = 8 };

struct settings {
    uint64_t workers, seed, epochs;
    uint64_t spare;     /* workers of each node for schedulers */
    uint64_t seconds;   /* 0: no limit */
    uint64_t patience;  /* evaluations that need not be better; 0: any number */
    int technique;      /* enum locus_technique, or one more: nups, ssp, essp */
    const char *hot;    /* which keys nups replicates: hot.h */
    uint64_t staleness; /* of ssp and essp: pace.h */
    unsigned has;       /* of enum settings_has */
    const char *techniques[SETTINGS_TECHNIQUES + 1]; /* those offered; "" for others */
    int sampling;                                    /* enum locus_conformity */
    int element;                                     /* enum locus_element, of the model */
    const char *data, *out, *report, *from, *schedule, *eval_every;
    bool json, is_baseline;
    struct rate rate;       /* as --schedule says */
    struct every evaluates; /* as --eval-every says */
    struct checkpoints_wish checkpoints;
    struct args_list list;               /* all options of the program */
    const char *inputs[SETTINGS_INPUTS]; /* files that are read besides those that options name */
};

/* Defaults; LOCUS_WORKERS of the environment is the number of workers. An option that a program has
 * no use for is not offered: `has` says which it has, of enum settings_has. */
void settings_init(struct settings *, unsigned has);

/* Adds to the list --seed, --workers, --technique, --from, --out, --report, --json and --baseline,
 * and what the program has besides. */
void settings_options(struct settings *);

/* --sampling, where the program wants it. */
struct args_option settings_sampling(struct settings *);

/* Adds --checkpoint and its like, and parses the list. `program`: names and texts. */
void settings_parse(struct settings *, const struct args_program *program, int argc, char **argv);
/* Ends the process without --data. `what` they are, for the sentence. */
void settings_check_source(const struct settings *, const char *what);
/* What does not go together ends the program. */
void settings_check(struct settings *);

/* How locus manages them. */
enum locus_technique settings_technique(const struct settings *);
/* By replicas that are missed first (--technique ssp and essp: pace.h). */
bool settings_is_bounded(const struct settings *);
/* Shall each node keep the hot keys (--technique nups)? Then one worker of each does, before
 * training; the number of each count is its key. */
bool settings_keeps(const struct settings *);
void settings_keep(const struct settings *, const struct pool_member *, const uint64_t *count,
                   size_t keys);

/* Of the data: of what is trained with, and of what the model is only judged by, which may be
 * another for who goes on from a checkpoint. */
struct settings_digest {
    uint64_t trained, judged;
};
/* The digest must be equal on all nodes, and so must the options that say so. */
void settings_open_pool(const struct settings *, struct pool *, const struct locus_table *tables,
                        size_t table_count, struct settings_digest);
/* A line for people: nodes, workers and technique, or that it is the baseline. */
void settings_show_pool(const struct settings *, const struct pool *, bool has_samples);

#endif
