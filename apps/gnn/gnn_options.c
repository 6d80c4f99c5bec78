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

static void task_options(struct gnn_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
            "edges: rows of two nodes' names, with tabs, commas,\nsemicolons or blanks between; or MatrixMarket;\nweights are not used"),
        OPTION_TEXT(
            "--labels", "FILE", &o->labels, ARGS_INPUT,
            "classes: rows of a node first and its class last; or\nLIBSVM, or a class a line, of the nodes 0, 1, ...;\n-1 is none"),
        OPTION_TEXT(
            "--features", "FILE", &o->features, ARGS_INPUT,
            "LIBSVM: given features of the nodes 0, 1, ...; each\nnode's are divided by the sum of their absolute values;\nwithout it embeddings are learned"),
        OPTION_TEXT("--split", "FILE", &o->split, ARGS_INPUT,
                    "what nodes are for, in a format of --labels: train,\nval, test, or none"),
        OPTION_REAL("--train", "X", &o->train, 0, 1, 0,
                    "without --split: the share of the nodes with a class\nthat is trained with"),
        OPTION_REAL("--validate", "X", &o->validate, 0, 1, 0,
                    "the share that is validated with; the rest is for the\ntest"),
        OPTION_TEXT(
            "--planted", "NxDxC", &o->planted, 0,
            "instead of --data: N nodes of mean degree D, by a\npower law, with C planted classes"),
        OPTION_REAL("--planted-same", "X", &o->planted_same, 0, 1, 0,
                    "the share of edges that stay in a class for sure"),
        OPTION_REAL("--planted-exponent", "X", &o->planted_exponent, 2.01, 100, 0,
                    "of the power law"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void model_options(struct gnn_options *o)
{
    const struct args_option options[] = {
        OPTION_COUNT("--dim", "N", &o->dim, 1, 4096, ARGS_TASK,
                     "floats of an embedding, optimizer state not included"),
        OPTION_COUNT("--hidden", "N", &o->hidden, 1, 4096, ARGS_TASK,
                     "values between the two layers"),
        OPTION_CHOICE(
            "--average", "NAME", &o->average, averages, ARGS_TASK,
            "how neighbours count: mean, all alike; symmetric,\nless the more neighbours both ends have"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct gnn_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 4096, ARGS_TASK, "nodes of a step"),
        OPTION_COUNT("--neighbours", "N", &o->neighbours, 0, 1024, ARGS_TASK,
                     "of a node that are drawn in a layer; 0: all"),
        OPTION_COUNT("--test-neighbours", "N", &o->test_neighbours, 0, 1024, ARGS_NODES,
                     "the same when the model is judged"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_REAL("--dense-lr", "X", &o->dense_rate, 0, 100, ARGS_TASK,
                    "the same for the layers' weights"),
        OPTION_REAL("--decay", "X", &o->decay, 0, 1, ARGS_TASK,
                    "weight of the squared norm of the rows"),
        OPTION_REAL(
            "--dropout", "X", &o->dropout, 0, 0.95, ARGS_TASK,
            "the share of the hidden values, and of given features,\nthat a step leaves out"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the rows' first values"),
        OPTION_CHOICE(
            "--partition", "NAME", &o->partition, partitions, ARGS_TASK,
            "of the graph among nodes of the cluster: greedy, with\nfew edges between them, or random"),
        OPTION_COUNT(
            "--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
            "judge each N epochs, besides at the end; the model that\nvalidated best is the one in the end"),
        OPTION_COUNT("--seconds", "N", &o->common.seconds, 0, 1e9, ARGS_NODES,
                     "end the training after that time; 0: after the last epoch"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
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
    task_options(o);
    model_options(o);
    training_options(o);
    settings_options(&o->common);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-gnn", .about = about, .more = more}, argc,
                   argv);
    check(o);
    settings_check(&o->common);
}
