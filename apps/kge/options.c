#include "options.h"

#include "fail.h"

enum { DIM_MAX = 4096, DIM_RESCAL_MAX = 512 };

static const char *const models[] = {"complex", "rescal", NULL};
static const char *const losses[] = {"logistic", "softmax", NULL};

static const char about[] =
    "Trains embeddings of a knowledge graph, alone or on a cluster (locus run, mpirun, srun, ...), and says how well\n"
    "they predict facts that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-kge --data /usr/share/wordnet       WordNet (Debian package wordnet-base)\n"
    "  locus-kge --data my-graph --dim 256 --out model.safetensors\n"
    "  locus run -n 4 locus-kge --data my-graph --json\n"
    "  locus run -n 4 locus-kge --planted 100000x50x1000000 --epochs 5\n";

static void own_options(struct options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, 0,
            "a folder with train.txt, valid.txt and test.txt:\nrows of subject, relation and object; or with\n"
            "WordNet's database files (data.noun, ...)"),
        OPTION_TEXT(
            "--planted", "ExRxF", &o->planted, 0,
            "instead of --data: E entities, R relations, F facts\nby Zipf's law, with planted clusters"),
        OPTION_CHOICE("--model", "NAME", &o->model, models, ARGS_TASK, "complex or rescal"),
        OPTION_COUNT(
            "--dim", "N", &o->dim, 1, DIM_MAX, ARGS_TASK,
            "floats of an embedding (complex: two for each\nnumber), optimizer state not included"),
        OPTION_FLAG("--reciprocal", &o->is_reciprocal, ARGS_TASK,
                    "a second embedding of each relation, for\nquestions for subjects"),
        OPTION_SECTION("training"),
        OPTION_COUNT("--negatives", "N", &o->negatives, 1, 1e6, ARGS_TASK,
                     "sampled subjects, and as many objects"),
        OPTION_FLAG("--own-negatives", &o->has_own_negatives, ARGS_TASK,
                    "each fact has its own N and N; otherwise the\nfacts of a batch share them"),
        settings_sampling(&o->common),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 1e6, ARGS_TASK, "facts of a step"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_CHOICE("--loss", "NAME", &o->loss, losses, ARGS_TASK,
                      "logistic, or softmax over the samples"),
        OPTION_REAL("--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
                    "weight of the cubed norm (N3) of the embeddings\nin a fact"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the first values"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void result_options(struct options *o)
{
    const struct args_option options[] = {
        OPTION_COUNT(
            "--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
            "evaluate the valid split each N epochs; valid and\ntest are evaluated at the end in any case"),
        OPTION_COUNT("--seconds", "N", &o->common.seconds, 0, 1e9, ARGS_NODES,
                     "end the training after that time, wherever it is;\n0: after the last epoch"),
        OPTION_TEXT("--chart", "PATH", &o->chart, ARGS_OUTPUT,
                    "draw loss, MRR and management over time as SVG"),
        OPTION_TEXT(
            "--near", "WORDS", &o->near, 0,
            "at the end show nearest neighbours of these\nentities, with commas between: dog,run.v.01"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void check(const struct options *o)
{
    settings_check_source(&o->common, "the graph", "--planted", o->planted);
    if (o->near && o->common.json) fail_usage("--near prints for people to read: not with --json");
    if (o->model == MODEL_COMPLEX && o->dim % 2 != 0)
        fail_usage("--dim %d is odd: complex numbers are two floats each", (int)o->dim);
    if (o->model == MODEL_RESCAL && o->dim > DIM_RESCAL_MAX)
        fail_usage("--dim %d is more than %d: RESCAL's relations are matrices of that size",
                   (int)o->dim, DIM_RESCAL_MAX);
    /* The manager draws a batch's negatives together. */
    double facts = o->has_own_negatives ? (double)o->batch : 1,
           most = MODEL_SIDES * (double)o->negatives * facts;
    if (most > LOCUS_SAMPLE_KEYS_MAX)
        fail_usage(
            "--negatives %zu make %.0f of a batch, more than %d: use fewer, or smaller batches",
            (size_t)o->negatives, most, LOCUS_SAMPLE_KEYS_MAX);
}

void kge_options(struct options *o, int argc, char **argv)
{
    *o = (struct options){.dim = 128,
                          .negatives = 500,
                          .batch = 512,
                          .rate = 0.1,
                          .regularization = 0.05,
                          .init = 0.01,
                          .loss = LOSS_SOFTMAX};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS);
    o->common.epochs = 30;
    own_options(o);
    settings_options(&o->common);
    result_options(o);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-kge", .about = about, .more = more}, argc,
                   argv);
    if (o->batch == 1) o->has_own_negatives = true;
    o->source = o->planted ? o->planted : o->common.data;
    check(o);
    settings_check(&o->common);
}
