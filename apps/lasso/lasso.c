#include "lasso.h"

#include "descent.h"
#include "turns.h"
#include "fail.h"
#include "lasso_loss.h"
#include "programs.h"
#include "results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char *const orders[] = {"priority", "round-robin", NULL};

static const char about[] =
    "Linear regression with few coefficients (the lasso), by parallel coordinate descent, alone or on a cluster\n"
    "(locus run, mpirun, srun, ...): a scheduler chooses which coefficients are updated at once.";

static const char more[] =
    "examples:\n"
    "  locus-lasso --data train.libsvm --lambda 0.1 --out coefficients.safetensors\n"
    "  locus-lasso --data train.libsvm --lambda 0.01 --test test.libsvm\n"
    "  locus run -n 4 locus-lasso --data train.libsvm --staleness 1\n";

static void task_options(struct lasso_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
            "LIBSVM: response index:value ..., indices from 1.\nColumns are centred and scaled to unit norm"),
        OPTION_TEXT("--test", "PATH", &o->test, ARGS_INPUT, "data to test the model with"),
        OPTION_REAL(
            "--lambda", "X", &o->lambda, 1e-6, 1, ARGS_TASK,
            "weight of the coefficients' absolute values, as a share\nof the least weight that makes all of them 0"),
        OPTION_SECTION("the schedule"),
        OPTION_CHOICE("--order", "NAME", &o->order, orders, ARGS_TASK,
                      "priority: what changed most comes first\nround-robin: one after the other"),
        OPTION_REAL(
            "--correlation", "X", &o->correlation, 0, 1, ARGS_TASK,
            "no two coefficients are updated at once whose columns'\nproduct is larger; 1: no filter"),
        OPTION_COUNT(
            "--staleness", "N", &o->staleness, 0, LASSO_STALENESS_MAX, ARGS_TASK,
            "a round begins when the one N before the last has ended:\nits products miss the changes of N rounds at most"),
        OPTION_REAL(
            "--tolerance", "X", &o->tolerance, 1e-9, 1, ARGS_NODES,
            "done when no coefficient changes by more than this\nshare of the response's norm"),
        OPTION_COUNT("--passes", "N", &o->common.epochs, 1, 1e6, ARGS_NODES,
                     "done after so many updates a coefficient, whatever\nthey change"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct lasso_options *o = &((struct lasso *)program)->options;
    *o = (struct lasso_options){.lambda = 0.1, .correlation = 0.1, .tolerance = 1e-5};
    /* Schedules need rows that all see alike at once, which full replication has not. */
    settings_init(&o->common, 0);
    o->common.epochs = 10000;
    task_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct lasso_options *o = &((struct lasso *)program)->options;
    struct checkpoints_wish *c = &o->common.checkpoints;
    if (!o->common.data) fail_usage("--data is missing: the matrix to learn from");
    if (o->staleness > 0 && o->common.is_baseline)
        fail_usage("--staleness is for rows that locus manages: leave --baseline out");
    if (o->common.workers == LOCUS_WORKERS_MAX)
        fail_usage("--workers must be at most %d: the scheduler is one", LOCUS_WORKERS_MAX - 1);
    o->common.spare = 1;
    /* What the filter had refused loses its place each time: each pass would be too often. */
    if (c->folder && !c->every) c->every = "600s";
}

/* ---- the data ---- */

/* With more of few columns nearly all would wait for their turns, whatever their priorities. */
static unsigned width_of(const struct columns *c)
{
    enum { WIDTH = 64, PART = 16 };
    uint32_t some = (c->count + PART - 1) / PART;
    return some < WIDTH ? some : WIDTH;
}

static void load(void *program)
{
    struct lasso *l = program;
    const char *path = l->options.common.data;
    struct cells cells = {0};
    cells_read(&cells, path);
    cells_finish(&cells, &l->columns, path);
    l->largest = lasso_loss_largest(&l->columns);
    if (l->largest <= 0)
        fail("%s: no column has anything in common with the response, which is all constant or "
             "orthogonal: there is nothing to learn",
             path);
    l->width = width_of(&l->columns);
    lasso_test_load(l);
    lasso_start_load(l);
}

static struct settings_digest digest(const void *program)
{
    return (struct settings_digest){columns_digest(&((const struct lasso *)program)->columns), 0};
}

/* Eta is what a coefficient at rest weighs beside one that changes: as much as a change of which
 * all coefficients together make up a hundred-thousandth of the response's norm. More of it makes
 * the order round robin's as soon as changes are small; what is at rest has its turns besides. */
static void plan(struct lasso *l, unsigned workers)
{
    enum { DEPTH = 2 }; /* rounds that the scheduler is ahead */
    const struct lasso_options *o = &l->options;
    struct locus_scheduler_config *c = &l->schedule;
    locus_scheduler_config_init(c);
    c->schedule.order = o->order == LASSO_PRIORITY ? LOCUS_PRIORITY : LOCUS_ROUND_ROBIN;
    c->schedule.variables = l->columns.count;
    c->schedule.workers = workers;
    c->schedule.width = l->width;
    c->schedule.window = 1 + (unsigned)o->staleness;
    c->schedule.eta = 1e-5 * sqrt(l->columns.response_squares / l->columns.count) + 1e-30;
    c->schedule.seed = o->common.seed;
    c->depth = DEPTH;
    c->figures = ROUNDS_FIGURES;
    c->extra = ROUNDS_EXTRA;
    c->first = l->columns.count;
    c->variable_key = 0;
}

static size_t tables(void *program, struct locus_table *tables)
{
    struct lasso *l = program;
    tables[LASSO_COEFFICIENTS] = training_table("coefficients", l->columns.count, 1);
    plan(l, 1); /* the mailboxes are the same for any number of workers */
    must(locus_scheduler_tables(&l->schedule, tables + LASSO_MAILBOXES), "making mailboxes");
    descent_rows_tables(l, &tables[LASSO_TURNS], &tables[LASSO_LOSSES]);
    return l->options.common.checkpoints.folder ? LASSO_TABLES : LASSO_TURNS;
}

static void ready(void *program, struct training *t)
{
    plan(program, t->pool->workers * (unsigned)t->pool->size);
    /* Passes, whose number nobody knows beforehand. */
    t->epochs = UINT64_MAX;
}

static void start(const void *program, const struct pool *pool)
{
    const struct lasso *l = program;
    const struct lasso_options *o = &l->options;
    const struct columns *c = &l->columns;
    if (o->common.json) return;
    printf("%s: %u rows, %u columns, %" PRIu64 " values; largest lambda %.9g\n", o->common.data,
           c->rows, c->count, c->start[c->count], l->largest * c->unit);
    printf("%s, %u at once, correlations below %g\n", orders[o->order], l->width, o->correlation);
    settings_show_pool(&o->common, pool, false);
}

static void unload(void *program)
{
    struct lasso *l = program;
    cells_fini(&l->test);
    free(l->start);
    columns_fini(&l->columns);
}

/* Its passes have no end that all reach together: descent.c has a loop of its own. */
const struct training_kind lasso_training = {.name = "locus-lasso",
                                             .about = about,
                                             .more = more,
                                             .program_bytes = sizeof(struct descent_here),
                                             TRAINING_JOB,
                                             .work = descent_work};
