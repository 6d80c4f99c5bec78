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

static void task_options(struct lasso_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(
            &o->common,
            "LIBSVM; or MatrixMarket, with --response. Columns are\ncentred and scaled to unit norm"),
        {.name = "--response",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->response,
         .help = "one column as MatrixMarket"},
        {.name = "--generate",
         .argument = "RxCxN",
         .kind = ARGS_TEXT,
         .target = &o->generate,
         .help =
             "instead of --data: R rows, C columns of N values each,\nof which one in ten is like the one before"},
        {.name = "--loss",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->loss,
         .choices = losses,
         .help = "squared: half the squared errors\nlogistic: the response has two values, labels"},
        {.name = "--lambda",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->lambda,
         .min = 1e-6,
         .max = 1,
         .help =
             "weight of the coefficients' absolute values: this\nshare of the least that leaves none"},
        {.name = "--path",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->path,
         .min = 1,
         .max = 10000,
         .help =
             "go down to it in N steps of equal ratio, each from\nthe coefficients of the one before"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void schedule_options(struct lasso_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the schedule"},
        {.name = "--order",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->order,
         .choices = orders,
         .help =
             "priority: what changed most comes first\nround-robin: one after the other\nrandom: all equally likely"},
        {.name = "--width",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->width,
         .min = 1,
         .max = LOCUS_SCHEDULE_WIDTH_MAX,
         .help = "coefficients that are updated at once, at most"},
        {.name = "--correlation",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->correlation,
         .max = 1,
         .help = "no two of them whose columns' product is larger;\n1: no filter"},
        {.name = "--schedulers",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->schedulers,
         .min = 1,
         .max = LOCUS_SCHEDULERS_MAX,
         .help = "that share the coefficients"},
        {.name = "--depth",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->depth,
         .max = 62,
         .help = "rounds that each of them is ahead"},
        {.name = "--staleness",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->staleness,
         .max = LASSO_STALENESS_MAX,
         .help =
             "a round begins when the one N before the last has ended:\nits products miss the changes of N rounds at most"},
        {.name = "--tolerance",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->tolerance,
         .min = 1e-9,
         .max = 1,
         .help =
             "done when no coefficient changes by more than this\nshare of the response's norm"},
        {.name = "--passes",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->common.epochs,
         .min = 1,
         .max = 1e6,
         .help = "done after so many updates a coefficient, whatever\nthey change"},
    };
    args_add(list, options, sizeof options / sizeof *options);
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
    struct args_list list = {0};
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
    task_options(o, &list);
    schedule_options(o, &list);
    settings_options(&o->common, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-lasso", about, more, argc, argv);
    check(o);
    settings_check(&o->common);
    struct checkpoints_wish *c = &o->common.checkpoints;
    /* What the filter had refused loses its place each time: each pass would be too often. */
    if (c->folder && !c->every) c->every = "600s";
    o->common.spare = o->schedulers;
}
