#include "mf_options.h"

#include "fail.h"

static const char *const visits[] = {"columns", "blocks", NULL};

static const char *const methods[] = {"sgd", "cd", NULL};

static const char *const adagrads[] = {"coordinate", "row", NULL};

static const char about[] =
    "Factorizes a matrix of which some cells are known (ratings), alone or on a cluster (locus run, mpirun, srun, ...),\n"
    "and says how well the factors predict cells that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-mf --data ratings.csv --bias --out factors.safetensors\n"
    "  locus-mf --zipf 100000x10000x5000000 --rank 100 --workers 2\n"
    "  locus run -n 4 locus-mf --data ratings.mtx --visit blocks --technique relocate\n";

static void task_options(struct mf_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(
            &o->common,
            "MatrixMarket, or lines of user, item and rating\nwith tabs, \"::\", commas, semicolons or blanks between"),
        {.name = "--test",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->test,
         .help = "cells to test with, in the same format"},
        {.name = "--hold-back",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->held_back,
         .min = 0,
         .max = 0.9,
         .help = "without --test: the share of the cells that is\ntested with"},
        {.name = "--zipf",
         .argument = "RxCxN",
         .kind = ARGS_TEXT,
         .target = &o->zipf,
         .help =
             "instead of --data: R rows, C columns, N cells by\nZipf's law, with planted factors"},
        {.name = "--zipf-exponent",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->zipf_exponent,
         .max = 10,
         .help = "of the law"},
        {.name = "--zipf-rank",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->zipf_rank,
         .min = 1,
         .max = 10000,
         .help = "of the planted factors"},
        {.name = "--zipf-noise",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->zipf_noise,
         .max = 1000,
         .help = "standard deviation; values have 1"},
        {.name = "--write",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->write,
         .help = "write the cells to train with as MatrixMarket"},
        {.name = "--rank",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->rank,
         .min = 1,
         .max = 10000,
         .help = "floats of a factor, optimizer state not included"},
        {.name = "--bias",
         .kind = ARGS_FLAG,
         .target = &o->has_bias,
         .help = "a bias of each row and each column"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void training_options(struct mf_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "training"},
        {.name = "--method",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->method,
         .choices = methods,
         .help =
             "sgd: AdaGrad, cell by cell\ncd: coordinate descent, all rows and then all columns;\nwithout --visit, --batch, --lr and --bias"},
        {.name = "--visit",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->visit,
         .choices = visits,
         .help =
             "columns: cells by column, in random order\nblocks: blocks of columns go from worker to worker"},
        settings_batch(&o->batch, 1e5, "cells of a step"),
        settings_rate(&o->rate, "learning rate of AdaGrad"),
        {.name = "--adagrad",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->adagrad,
         .choices = adagrads,
         .help =
             "row: a learning rate for each factor\ncoordinate: for each of its floats: twice the memory"},
        {.name = "--reg",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->regularization,
         .max = 1000,
         .help = "weight of the squared norm, for each cell; with cd\nin all"},
        {.name = "--init",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->init,
         .max = 10,
         .help = "standard deviation of the first products"},
        settings_eval_every(&o->common, "test each N epochs, besides at the end"),
        settings_seconds(
            &o->common,
            "end the training after that time, with blocks after\nthe epoch; 0: after the last epoch"),
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void check(const struct mf_options *o)
{
    settings_check_source(&o->common, "the ratings", "--zipf", o->zipf);
    if (o->zipf && o->test)
        fail_usage("--test is given with --zipf: generated cells are held back, see --hold-back");
    if (o->method == MF_COORDINATES && (o->has_bias || o->visit == MF_BLOCKS))
        fail_usage("--method cd has neither --bias nor --visit blocks: leave them out");
    if (o->method == MF_COORDINATES && settings_is_bounded(&o->common))
        fail_usage("--method cd bounds no staleness, its phases meet: choose another --technique");
}

void mf_options(struct mf_options *o, int argc, char **argv)
{
    struct args_list list = {0};
    *o = (struct mf_options){.rank = 100,
                             .batch = 128,
                             .rate = 0.05,
                             .regularization = 0.02,
                             .init = 0.1,
                             .adagrad = MF_BY_ROW,
                             .held_back = 0.1,
                             .zipf_exponent = 1.1,
                             .zipf_rank = 10,
                             .zipf_noise = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS);
    task_options(o, &list);
    training_options(o, &list);
    settings_options(&o->common, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-mf", about, more, argc, argv);
    check(o);
    settings_check(&o->common);
}
