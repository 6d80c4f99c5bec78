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

static void own_options(struct options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(
            &o->common,
            "a folder with train.txt, valid.txt and test.txt:\nrows of subject, relation and object; or with\n"
            "WordNet's database files (data.noun, ...)"),
        {.name = "--planted",
         .argument = "ExRxF",
         .kind = ARGS_TEXT,
         .target = &o->planted,
         .help =
             "instead of --data: E entities, R relations, F facts\nby Zipf's law, with planted clusters"},
        {.name = "--model",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->model,
         .choices = models,
         .help = "complex or rescal"},
        {.name = "--dim",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->dim,
         .min = 1,
         .max = DIM_MAX,
         .help =
             "floats of an embedding (complex: two for each\nnumber), optimizer state not included"},
        {.name = "--reciprocal",
         .kind = ARGS_FLAG,
         .target = &o->is_reciprocal,
         .help = "a second embedding of each relation, for\nquestions for subjects"},
        {.kind = ARGS_SECTION, .help = "training"},
        {.name = "--negatives",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->negatives,
         .min = 1,
         .max = 1e6,
         .help = "sampled subjects, and as many objects"},
        {.name = "--own-negatives",
         .kind = ARGS_FLAG,
         .target = &o->has_own_negatives,
         .help = "each fact has its own N and N; otherwise the\nfacts of a batch share them"},
        settings_sampling(&o->common),
        settings_batch(&o->batch, 1e6, "facts of a step"),
        settings_rate(&o->rate, "learning rate of AdaGrad"),
        {.name = "--loss",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->loss,
         .choices = losses,
         .help = "logistic, or softmax over the samples"},
        {.name = "--reg",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->regularization,
         .min = 0,
         .max = 1000,
         .help = "weight of the cubed norm (N3) of the embeddings\nin a fact"},
        {.name = "--init",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->init,
         .min = 0,
         .max = 10,
         .help = "standard deviation of the first values"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void result_options(struct options *o, struct args_list *list)
{
    const struct args_option options[] = {
        settings_eval_every(
            &o->common,
            "evaluate the valid split each N epochs; valid and\ntest are evaluated at the end in any case"),
        settings_seconds(
            &o->common,
            "end the training after that time, wherever it is;\n0: after the last epoch"),
        {.name = "--chart",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->chart,
         .help = "draw loss, MRR and management over time as SVG"},
        {.name = "--near",
         .argument = "WORDS",
         .kind = ARGS_TEXT,
         .target = &o->near,
         .help =
             "at the end show nearest neighbours of these\nentities, with commas between: dog,run.v.01"},
    };
    args_add(list, options, sizeof options / sizeof *options);
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
    struct args_list list = {0};
    *o = (struct options){.dim = 128,
                          .negatives = 500,
                          .batch = 512,
                          .rate = 0.1,
                          .regularization = 0.05,
                          .init = 0.01,
                          .loss = LOSS_SOFTMAX};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS);
    o->common.epochs = 30;
    own_options(o, &list);
    settings_options(&o->common, &list);
    result_options(o, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-kge", about, more, argc, argv);
    if (o->batch == 1) o->has_own_negatives = true;
    o->source = o->planted ? o->planted : o->common.data;
    check(o);
    settings_check(&o->common);
}
