#include "lasso_options.h"

#include "fail.h"

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
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
            "LIBSVM; or MatrixMarket, with --response. Columns are\ncentred and scaled to unit norm"),
        OPTION_TEXT("--response", "PATH", &o->response, ARGS_INPUT, "one column as MatrixMarket"),
        OPTION_TEXT(
            "--generate", "RxCxN", &o->generate, 0,
            "instead of --data: R rows, C columns of N values each,\nof which one in ten is like the one before"),
        OPTION_CHOICE(
            "--loss", "NAME", &o->loss, losses, ARGS_TASK,
            "squared: half the squared errors\nlogistic: the response has two values, labels"),
        OPTION_REAL(
            "--lambda", "X", &o->lambda, 1e-6, 1, ARGS_TASK,
            "weight of the coefficients' absolute values: this\nshare of the least that leaves none"),
        OPTION_COUNT(
            "--path", "N", &o->path, 1, 10000, ARGS_TASK,
            "go down to it in N steps of equal ratio, each from\nthe coefficients of the one before"),
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
        OPTION_COUNT("--width", "N", &o->width, 1, LOCUS_SCHEDULE_WIDTH_MAX, ARGS_TASK,
                     "coefficients that are updated at once, at most"),
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

static void check(const struct lasso_options *o)
{
    settings_check_source(&o->common, "the matrix", "--generate", o->generate);
    if (o->staleness > 0 && (o->common.is_baseline || o->loss == LASSO_LOGISTIC))
        fail_usage("--staleness is for the squared loss, with locus: leave --loss logistic or "
                   "--baseline out");
    if (o->depth + o->staleness > 62) fail_usage("--depth and --staleness are 62 together at most");
    if (o->common.workers + o->schedulers > LOCUS_WORKERS_MAX)
        fail_usage("--workers and --schedulers are %d together at most", LOCUS_WORKERS_MAX);
}

const char *lasso_loss_name(int loss)
{
    return losses[loss];
}

const char *lasso_order_name(int order)
{
    return orders[order];
}

void lasso_options(struct lasso_options *o, int argc, char **argv)
{
    *o = (struct lasso_options){.width = 64,
                                .schedulers = 1,
                                .depth = 2,
                                .path = 1,
                                .lambda = 0.1,
                                .correlation = 0.1,
                                .tolerance = 1e-5};
    /* Schedules need rows that all see alike at once, which full replication has not. */
    settings_init(&o->common, 0);
    o->common.epochs = 10000;
    task_options(o);
    schedule_options(o);
    settings_options(&o->common);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-lasso", .about = about, .more = more},
                   argc, argv);
    check(o);
    settings_check(&o->common);
    struct checkpoints_wish *c = &o->common.checkpoints;
    /* What the filter had refused loses its place each time: each pass would be too often. */
    if (c->folder && !c->every) c->every = "600s";
    o->common.spare = o->schedulers;
}
