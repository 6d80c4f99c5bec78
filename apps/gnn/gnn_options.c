#include "gnn_options.h"

#include "fail.h"

static const char *const averages[] = {"mean", "symmetric", NULL};

static const char *const partitions[] = {"greedy", "random", NULL};

static const char about[] =
    "Finds the classes of a graph's nodes by graph convolution with sampled neighbours, alone or on a cluster (locus run,\n"
    "mpirun, srun, ...), and says for how many of those that were held back it finds the right one.";

static const char more[] =
    "examples:\n"
    "  locus-gnn --data edges.csv --labels classes.csv --out model.safetensors\n"
    "  locus-gnn --data cora.edges.tsv --labels cora.nodes.svm --features cora.nodes.svm --split cora.split.txt\n"
    "  locus run -n 4 locus-gnn --planted 1000000x16x32\n";

static void task_options(struct gnn_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(
            &o->common,
            "edges: rows of two nodes' names, with tabs, commas,\nsemicolons or blanks between; or MatrixMarket;\nweights are not used"),
        {.name = "--labels",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->labels,
         .help =
             "classes: rows of a node first and its class last; or\nLIBSVM, or a class a line, of the nodes 0, 1, ...;\n-1 is none"},
        {.name = "--features",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->features,
         .help =
             "LIBSVM: given features of the nodes 0, 1, ...; each\nnode's are divided by the sum of their absolute values;\nwithout it embeddings are learned"},
        {.name = "--split",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->split,
         .help = "what nodes are for, in a format of --labels: train,\nval, test, or none"},
        {.name = "--train",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->train,
         .max = 1,
         .help = "without --split: the share of the nodes with a class\nthat is trained with"},
        {.name = "--validate",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->validate,
         .max = 1,
         .help = "the share that is validated with; the rest is for the\ntest"},
        {.name = "--planted",
         .argument = "NxDxC",
         .kind = ARGS_TEXT,
         .target = &o->planted,
         .help =
             "instead of --data: N nodes of mean degree D, by a\npower law, with C planted classes"},
        {.name = "--planted-same",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->planted_same,
         .max = 1,
         .help = "the share of edges that stay in a class for sure"},
        {.name = "--planted-exponent",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->planted_exponent,
         .min = 2.01,
         .max = 100,
         .help = "of the power law"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void model_options(struct gnn_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.name = "--dim",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->dim,
         .min = 1,
         .max = 4096,
         .help = "floats of an embedding, optimizer state not included"},
        {.name = "--hidden",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->hidden,
         .min = 1,
         .max = 4096,
         .help = "values between the two layers"},
        {.name = "--average",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->average,
         .choices = averages,
         .help =
             "how neighbours count: mean, all alike; symmetric,\nless the more neighbours both ends have"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void training_options(struct gnn_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "training"},
        settings_batch(&o->batch, 4096, "nodes of a step"),
        {.name = "--neighbours",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->neighbours,
         .max = 1024,
         .help = "of a node that are drawn in a layer; 0: all"},
        {.name = "--test-neighbours",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->test_neighbours,
         .max = 1024,
         .help = "the same when the model is judged"},
        settings_rate(&o->rate, "learning rate of AdaGrad"),
        {.name = "--dense-lr",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->dense_rate,
         .max = 100,
         .help = "the same for the layers' weights"},
        {.name = "--decay",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->decay,
         .max = 1,
         .help = "weight of the squared norm of the rows"},
        {.name = "--dropout",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->dropout,
         .max = 0.95,
         .help = "the share of the hidden values, and of given features,\nthat a step leaves out"},
        {.name = "--init",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->init,
         .max = 10,
         .help = "standard deviation of the rows' first values"},
        {.name = "--partition",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->partition,
         .choices = partitions,
         .help =
             "of the graph among nodes of the cluster: greedy, with\nfew edges between them, or random"},
        settings_eval_every(
            &o->common,
            "judge each N epochs, besides at the end; the model that\nvalidated best is the one in the end"),
        settings_seconds(&o->common, "end the training after that time; 0: after the last epoch"),
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void check(const struct gnn_options *o)
{
    if (!o->common.data && !o->planted)
        fail_usage("--data is missing: the edges of the graph; or --planted makes a graph up");
    if (o->common.data && o->planted) fail_usage("--data and --planted are both given: choose one");
    if (o->common.data && !o->labels) fail_usage("--labels is missing: the classes of the nodes");
    if (o->planted && (o->labels || o->features || o->split))
        fail_usage("--planted has neither --labels nor --features nor --split: leave them out");
    if (o->train + o->validate > 1)
        fail_usage("--train %g and --validate %g are more than all nodes", o->train, o->validate);
}

void gnn_options(struct gnn_options *o, int argc, char **argv)
{
    struct args_list list = {0};
    *o = (struct gnn_options){.dim = 64,
                              .hidden = 64,
                              .batch = 32,
                              .neighbours = 16,
                              .test_neighbours = 16,
                              .train = 0.6,
                              .validate = 0.2,
                              .planted_exponent = 2.5,
                              .planted_same = 0.6,
                              .rate = 0.1,
                              .dense_rate = 0.01,
                              .init = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT);
    o->common.epochs = 3;
    task_options(o, &list);
    model_options(o, &list);
    training_options(o, &list);
    settings_options(&o->common, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-gnn", about, more, argc, argv);
    check(o);
    settings_check(&o->common);
}
