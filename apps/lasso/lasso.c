#include "lasso.h"

#include "descent.h"
#include "turns.h"
#include "fail.h"
#include "matrix_market.h"
#include "lasso_loss.h"
#include "path.h"
#include "plain.h"
#include "columns.h"
#include "programs.h"
#include "results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char *const orders[] = {"priority", "round-robin", "random", NULL};

static const char *const losses[] = {"squared", "logistic", NULL};

static const char about[] =
    "Linear or logistic regression with few coefficients (the lasso), by parallel coordinate descent, alone or on a cluster\n"
    "(locus run, mpirun, srun, ...): a scheduler chooses which coefficients are updated at once.";

static const char more[] =
    "examples:\n"
    "  locus-lasso --data train.libsvm --lambda 0.1 --out coefficients.safetensors\n"
    "  locus-lasso --data X.mtx --response y.mtx --lambda 0.01 --path 20\n"
    "  locus run -n 4 locus-lasso --generate 50000x1000000x25 --width 256\n";

static void task_options(struct lasso_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_MANY(
            "--data", "PATH", &o->common.files, ARGS_INPUT,
            "LIBSVM; or MatrixMarket, with --response. Columns are\ncentred and scaled to unit norm"),
        format_offer(&o->common.format, 1U << FORMAT_LIBSVM | 1U << FORMAT_MATRIX),
        OPTION_TEXT("--response", "PATH", &o->response, ARGS_INPUT, "one column as MatrixMarket"),
        OPTION_TEXT("--test", "PATH", &o->test, ARGS_INPUT,
                    "data to test the models with, in the same format"),
        OPTION_TEXT("--test-response", "PATH", &o->test_response, ARGS_INPUT,
                    "with MatrixMarket: its responses"),
        OPTION_TEXT(
            "--generate", "RxCxN", &o->generate, 0,
            "instead of --data: R rows, C columns of N values each,\nof which one in ten is like the one before"),
        OPTION_CHOICE(
            "--loss", "NAME", &o->loss, losses, ARGS_TASK,
            "squared: half the squared errors\nlogistic: the response has two values, labels"),
        OPTION_REAL(
            "--lambda", "X", &o->lambda, 1e-6, 1e300, ARGS_TASK,
            "weight of the coefficients' absolute values, as a share\nof the least weight that makes all of them 0"),
        OPTION_FLAG(
            "--absolute", &o->is_absolute, 0,
            "--lambda is the weight itself, beside the loss summed\nover the rows: glmnet's times the root of the rows"),
        OPTION_REAL(
            "--alpha", "X", &o->alpha, 0.001, 1, ARGS_TASK,
            "elastic net: the share of the absolute values in the\npenalty; the rest are half the squares, as in\nscikit-learn; glmnet divides these by the deviation of y,\nunless the loss is logistic"),
        OPTION_FLAG("--no-standardize", &o->is_raw, ARGS_TASK,
                    "penalize coefficients of the columns as they are"),
        OPTION_COUNT(
            "--path", "N", &o->path, 1, 10000, ARGS_TASK,
            "reach --lambda in N steps of equal ratio, each from\nthe coefficients of the step before"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void schedule_options(struct lasso_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the schedule"),
        OPTION_CHOICE(
            "--order", "NAME", &o->order, orders, ARGS_TASK,
            "priority: what changed most comes first\nround-robin: one after the other\nrandom: all equally likely"),
        OPTION_COUNT(
            "--width", "N", &o->width, 0, LOCUS_SCHEDULE_WIDTH_MAX, ARGS_TASK,
            "coefficients that are updated at once, at most;\n0: 64, or of fewer than 1024 columns a sixteenth"),
        OPTION_REAL("--correlation", "X", &o->correlation, 0, 1, ARGS_TASK,
                    "no two of them whose columns' product is larger;\n1: no filter"),
        OPTION_COUNT("--schedulers", "N", &o->schedulers, 1, LOCUS_SCHEDULERS_MAX, ARGS_TASK,
                     "that share the coefficients"),
        OPTION_COUNT("--depth", "N", &o->depth, 0, 62, ARGS_TASK,
                     "rounds that each of them is ahead"),
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

const char *lasso_loss_name(int loss)
{
    return losses[loss];
}

const char *lasso_order_name(int order)
{
    return orders[order];
}

static struct settings *options(void *program)
{
    struct lasso_options *o = &((struct lasso *)program)->options;
    *o = (struct lasso_options){.schedulers = 1,
                                .depth = 2,
                                .path = 1,
                                .lambda = 0.1,
                                .alpha = 1,
                                .correlation = 0.1,
                                .tolerance = 1e-5};
    /* Schedules need rows that all see alike at once, which full replication has not. */
    settings_init(&o->common, 0);
    o->common.epochs = 10000;
    task_options(o);
    schedule_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct lasso_options *o = &((struct lasso *)program)->options;
    struct checkpoints_wish *c = &o->common.checkpoints;
    settings_check_source(&o->common, "the matrix", "--generate", o->generate);
    args_excludes("--response", "--generate");
    args_needs("--test-response", "--test");
    args_needs("--absolute", "--lambda");
    if (o->lambda > 1 && !o->is_absolute)
        fail_usage("--lambda is %g: a share from 1e-06 to 1, unless there is --absolute",
                   o->lambda);
    if (o->staleness > 0 && (o->common.is_baseline || o->loss == LASSO_LOGISTIC))
        fail_usage("--staleness is for the squared loss, with locus: leave --loss logistic or "
                   "--baseline out");
    if (o->depth + o->staleness > 62) fail_usage("--depth and --staleness are 62 together at most");
    if (o->common.workers + o->schedulers > LOCUS_WORKERS_MAX)
        fail_usage("--workers and --schedulers are %d together at most", LOCUS_WORKERS_MAX);
    /* What the filter had refused loses its place each time: each pass would be too often. */
    if (c->folder && !c->every) c->every = "600s";
    o->common.spare = o->schedulers;
}

/* ---- the data ---- */

/* An absolute lambda as a share of the largest one. */
static void set_share(struct lasso *l)
{
    struct lasso_options *o = &l->options;
    double largest = l->largest * l->columns.unit;
    if (o->lambda > largest || o->lambda < 1e-6 * largest)
        fail("--lambda %g --absolute must be from %g to %g, which leaves no coefficient", o->lambda,
             1e-6 * largest, largest);
    o->lambda /= largest;
}

/* With more of few columns nearly all would wait for their turns, whatever their priorities. */
static void set_width(struct lasso *l)
{
    enum { WIDTH = 64, PART = 16 };
    uint64_t some = (l->columns.count + PART - 1) / PART;
    if (l->options.width == 0) l->options.width = some < WIDTH ? some : WIDTH;
}

static void load(void *program)
{
    struct lasso *l = program;
    const struct lasso_options *o = &l->options;
    if (o->common.data) {
        format_check(&o->common.format, o->common.data,
                     matrix_market_format(o->common.data, FORMAT_LIBSVM));
        columns_load(&l->columns, o->common.data, o->response);
    } else {
        planted_make(&l->columns, o->generate, o->common.seed);
    }
    lasso_loss_prepare(l);
    if (l->largest <= 0)
        fail("%s: no column has anything in common with the response, which is all constant or "
             "orthogonal: there is nothing to learn",
             o->common.data ? o->common.data : "--generate");
    if (o->is_absolute) set_share(l);
    set_width(l);
    lasso_test_load(l);
    lasso_models_start(l);
    if (o->schedulers > l->columns.count)
        fail_usage("--schedulers is %llu: more than the %u columns",
                   (unsigned long long)o->schedulers, l->columns.count);
}

static struct settings_digest digest(const void *program)
{
    const struct lasso *l = program;
    return (struct settings_digest){columns_digest(&l->columns), 0};
}

static enum locus_order order_of(int order)
{
    switch (order) {
    case LASSO_ROUND_ROBIN: return LOCUS_ROUND_ROBIN;
    case LASSO_RANDOM: return LOCUS_OWN_ORDER;
    default: return LOCUS_PRIORITY;
    }
}

/* Eta is what a coefficient at rest weighs beside one that changes: as much as a change of which
 * all coefficients together make up a hundred-thousandth of the response's norm. More of it makes
 * the order round robin's as soon as changes are small; what is at rest has its turns besides. */
static void plan(struct lasso *l, unsigned workers)
{
    const struct lasso_options *o = &l->options;
    struct locus_scheduler_config *c = &l->schedule;
    locus_scheduler_config_init(c);
    c->schedule.order = order_of(o->order);
    c->schedule.variables = l->columns.count;
    c->schedule.workers = workers;
    c->schedule.width = (unsigned)o->width;
    c->schedule.window = 1 + (unsigned)o->staleness;
    c->schedule.eta = 1e-5 * sqrt(l->columns.response_squares / l->columns.count) + 1e-30;
    c->schedule.seed = o->common.seed;
    c->schedulers = (unsigned)o->schedulers;
    c->depth = (unsigned)o->depth;
    c->figures = (unsigned)rounds_figures(l);
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
    tables[LASSO_PATH] = path_table(l);
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
    printf("%s: %u rows, %u columns, %" PRIu64 " values; largest lambda %.9g\n",
           settings_source(&o->common), c->rows, c->count, c->start[c->count],
           l->largest * c->unit);
    printf("%s loss; %s, %" PRIu64 " at once, correlations below %g; %" PRIu64
           " scheduler%s, %" PRIu64 " round%s ahead\n",
           lasso_loss_name(o->loss), lasso_order_name(o->order), o->width, o->correlation,
           o->schedulers, plain_s(o->schedulers), o->depth, plain_s(o->depth));
    settings_show_pool(&o->common, pool, false);
}

static void unload(void *program)
{
    struct lasso *l = program;
    lasso_test_unload(l);
    free(l->start);
    columns_fini(&l->columns);
}

double lasso_lambda(const struct lasso *l, uint64_t step)
{
    const struct lasso_options *o = &l->options;
    double share = (double)(step + 1) / (double)o->path;
    return l->largest * pow(o->lambda, share);
}

/* Its passes have no end that all reach together: descent.c has a loop of its own. */
const struct training_kind lasso_training = {.name = "locus-lasso",
                                             .about = about,
                                             .more = more,
                                             .predict = &lasso_predict_kind,
                                             .program_bytes = sizeof(struct descent_here),
                                             TRAINING_JOB,
                                             .work = descent_work};
