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

static void task_options(struct mf_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
            "MatrixMarket, or lines of user, item and rating\nwith tabs, \"::\", commas, semicolons or blanks between"),
        OPTION_TEXT("--test", "FILE", &o->test, ARGS_INPUT,
                    "cells to test with, in the same format"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, 0,
                    "without --test: the share of the cells that is\ntested with"),
        OPTION_TEXT(
            "--zipf", "RxCxN", &o->zipf, 0,
            "instead of --data: R rows, C columns, N cells by\nZipf's law, with planted factors"),
        OPTION_REAL("--zipf-exponent", "X", &o->zipf_exponent, 0, 10, 0, "of the law"),
        OPTION_COUNT("--zipf-rank", "N", &o->zipf_rank, 1, 10000, 0, "of the planted factors"),
        OPTION_REAL("--zipf-noise", "X", &o->zipf_noise, 0, 1000, 0,
                    "standard deviation; values have 1"),
        OPTION_TEXT("--write", "PATH", &o->write, ARGS_OUTPUT,
                    "write the cells to train with as MatrixMarket"),
        OPTION_COUNT("--rank", "N", &o->rank, 1, 10000, ARGS_TASK,
                     "floats of a factor, optimizer state not included"),
        OPTION_FLAG("--bias", &o->has_bias, ARGS_TASK, "a bias of each row and each column"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct mf_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_CHOICE(
            "--method", "NAME", &o->method, methods, ARGS_TASK,
            "sgd: AdaGrad, cell by cell\ncd: coordinate descent, all rows and then all columns;\nwithout --visit, --batch, --lr and --bias"),
        OPTION_CHOICE(
            "--visit", "NAME", &o->visit, visits, ARGS_TASK,
            "columns: cells by column, in random order\nblocks: blocks of columns go from worker to worker"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 1e5, ARGS_TASK, "cells of a step"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_CHOICE(
            "--adagrad", "NAME", &o->adagrad, adagrads, ARGS_TASK,
            "row: a learning rate for each factor\ncoordinate: for each of its floats: twice the memory"),
        OPTION_REAL("--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
                    "weight of the squared norm, for each cell; with cd\nin all"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the first products"),
        OPTION_COUNT("--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
                     "test each N epochs, besides at the end"),
        OPTION_COUNT(
            "--seconds", "N", &o->common.seconds, 0, 1e9, ARGS_NODES,
            "end the training after that time, with blocks after\nthe epoch; 0: after the last epoch"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
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
    task_options(o);
    training_options(o);
    settings_options(&o->common);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-mf", .about = about, .more = more}, argc,
                   argv);
    check(o);
    settings_check(&o->common);
}
