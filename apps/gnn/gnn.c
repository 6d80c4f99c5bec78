#include "gnn.h"

#include "accuracy.h"
#include "convolution.h"
#include "dense.h"
#include "digest.h"
#include "neighbourhood.h"
#include "fail.h"
#include "json.h"
#include "partition.h"
#include "plain.h"
#include "labels.h"
#include "programs.h"
#include "rows.h"
#include "tensors.h"
#include "warm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char about[] =
    "Finds the classes of a graph's nodes by graph convolution with sampled neighbours, alone or on a cluster (locus run,\n"
    "mpirun, srun, ...), and says for how many of those that were held back it finds the right one.";

static const char more[] =
    "examples:\n"
    "  locus-gnn --data edges.txt --labels labels.txt --out model.safetensors\n"
    "  locus-gnn --data edges.txt --labels labels.txt --features features.txt --split purposes.txt\n"
    "  locus run -n 4 locus-gnn --data edges.txt --labels labels.txt\n";

static void task_options(struct gnn_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT("--data", "PATH", &o->common.data, ARGS_INPUT,
                    "edges: a line is the names of two nodes, with a tab\nbetween"),
        OPTION_TEXT("--labels", "FILE", &o->labels, ARGS_INPUT,
                    "a line is a node, a tab, and its class"),
        OPTION_TEXT(
            "--features", "FILE", &o->features, ARGS_INPUT,
            "a line is a node, a tab, and its index:value ...; each\nnode's are divided by the sum of their absolute values;\nwithout it embeddings are learned"),
        OPTION_TEXT("--split", "FILE", &o->split, ARGS_INPUT,
                    "a line is a node, a tab, and train, val or test"),
        OPTION_REAL("--train", "X", &o->train, 0, 1, 0,
                    "without --split: the share of the nodes with a class\nthat is trained with"),
        OPTION_REAL("--validate", "X", &o->validate, 0, 1, 0,
                    "the share that is validated with; the rest is for the\ntest"),
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
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct gnn_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 4096, ARGS_TASK, "nodes of a worker's step"),
        OPTION_COUNT("--neighbours", "N", &o->neighbours, 0, 1024, ARGS_TASK,
                     "of a node that are drawn in a layer; 0: all"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of the rows' AdaGrad"),
        OPTION_REAL("--decay", "X", &o->decay, 0, 1, ARGS_TASK,
                    "weight of the squared norm of the rows"),
        OPTION_REAL(
            "--dropout", "X", &o->dropout, 0, 0.95, ARGS_TASK,
            "the share of the hidden values, and of given features,\nthat a step leaves out"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the rows' first values"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct gnn_options *o = &((struct gnn *)program)->options;
    *o = (struct gnn_options){.dim = 64,
                              .hidden = 64,
                              .batch = 32,
                              .neighbours = 16,
                              .train = 0.6,
                              .validate = 0.2,
                              .rate = 0.1,
                              .init = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_PATIENCE |
                                  SETTINGS_RATE);
    o->common.epochs = 3;
    task_options(o);
    model_options(o);
    training_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct gnn_options *o = &((struct gnn *)program)->options;
    settings_check_source(&o->common, "the edges");
    if (!o->labels) fail_usage("--labels is missing: the classes of the nodes");
    args_excludes("--train", "--split");
    args_excludes("--validate", "--split");
    if (o->train + o->validate > 1)
        fail_usage("--train %g and --validate %g are more than all nodes", o->train, o->validate);
}

/* ---- the data ---- */

static void read_all(struct gnn *g)
{
    const struct gnn_options *o = &g->options;
    network_init(&g->network);
    labels_init(&g->labels);
    network_load(&g->network, o->common.data);
    labels_load(&g->labels, &g->network, o->labels);
    if (o->split) labels_load_purposes(&g->labels, &g->network, o->split);
    if (o->features) features_load(&g->features, &g->network, o->features);
    network_finish(&g->network);
    labels_reserve(&g->labels, g->network.nodes);
    if (o->split)
        labels_list(&g->labels);
    else
        labels_split(&g->labels, o->train, o->validate, o->common.seed);
}

static void plan(struct gnn *g)
{
    const struct gnn_options *o = &g->options;
    dense_plan_of_length(&g->plan, gnn_width(g));
    if (!gnn_has_features(g)) dense_plan_add(&g->plan, o->dim, o->hidden, true);
    dense_plan_add(&g->plan, o->hidden, g->labels.classes, false);
}

static void load(void *program)
{
    read_all(program);
    plan(program);
}

static struct settings_digest digest(const void *program)
{
    const struct gnn *g = program;
    uint64_t parts[] = {network_digest(&g->network), labels_digest(&g->labels, false),
                        features_digest(&g->features), gnn_has_features(g)};
    return (struct settings_digest){digest_add(DIGEST_FIRST, parts, sizeof parts),
                                    labels_digest(&g->labels, true)};
}

/* Of AdaGrad, for the layers' weights. */
static const double DENSE_RATE = 0.01;

static size_t tables(void *program, struct locus_table *tables)
{
    const struct gnn *g = program;
    const struct gnn_options *o = &g->options;
    tables[GNN_INPUTS] = training_adagrad(gnn_has_features(g) ? "features" : "nodes", gnn_inputs(g),
                                          gnn_width(g), o->rate);
    tables[GNN_DENSE] = training_adagrad("dense", g->plan.rows, g->plan.length, DENSE_RATE);
    return GNN_TABLES;
}

static void cut(struct gnn *g, uint32_t parts)
{
    g->parts = parts;
    partition_cut(&g->network, &g->labels, parts, g->options.common.seed, g->part_of);
}

static void ready(void *program, struct training *t)
{
    struct gnn *g = program;
    g->part_of = take_memory(g->network.nodes, sizeof *g->part_of);
    cut(g, (uint32_t)t->pool->size);
    t->examples = g->labels.count[LABELS_TRAIN];
    t->is_unjudged = g->labels.count[LABELS_VALIDATE] + g->labels.count[LABELS_TEST] == 0;
}

static void start(const void *program, const struct pool *pool)
{
    const struct gnn *g = program;
    const struct gnn_options *o = &g->options;
    const struct labels *l = &g->labels;
    double between = partition_cut_share(&g->network, g->part_of);
    uint32_t added = g->network.names.count - g->network.linked;
    if (added > 0)
        fprintf(stderr, "%s: %s has no edge of %u node%s that other files name\n", fail_program(),
                o->common.data, added, plain_s(added));
    if (o->common.json) {
        struct json j;
        if (pool->size == 1) return;
        json_begin(&j, "partition");
        json_number(&j, "edges_between", between);
        json_end(&j);
        return;
    }
    printf("%s: %u nodes, %" PRIu64 " edges, %u classes; %u nodes to train with, %u to validate "
           "with, %u to test with\n",
           o->common.data, g->network.nodes, network_edges(&g->network), l->classes,
           l->count[LABELS_TRAIN], l->count[LABELS_VALIDATE], l->count[LABELS_TEST]);
    if (gnn_has_features(g))
        printf("%u feature%s; ", g->features.count, plain_s(g->features.count));
    else
        printf("embeddings of %" PRIu64 "; ", o->dim);
    printf("%" PRIu64 " hidden; batches of %" PRIu64 ", %" PRIu64
           " neighbour%s; AdaGrad, rate %g\n",
           o->hidden, o->batch, o->neighbours, plain_s(o->neighbours), o->rate);
    settings_show_pool(&o->common, pool, false);
    if (pool->size > 1) printf("%.1f %% of the edges are between nodes' parts\n", 100 * between);
    fflush(stdout);
}

static void unload(void *program)
{
    struct gnn *g = program;
    network_fini(&g->network);
    labels_fini(&g->labels);
    features_fini(&g->features);
    free(g->part_of);
}

/* ---- training ---- */

struct worker {
    struct epochs epochs;
    struct convolution convolution;
    struct accuracy_judge judge;
};

/* Uniform, with --init as the deviation. The same for a row whatever the cluster. */
static void draw_row(const void *gnn, uint64_t row, float *values)
{
    const struct gnn *g = gnn;
    const struct gnn_options *o = &g->options;
    rng_fill(o->common.seed, UINT64_C(1) << 40 | row, o->init, values, gnn_width(g));
}

/* How often a row is accessed: a node's by those that have it as a neighbour, about. */
static void count_uses(const void *program, uint64_t *count)
{
    const struct gnn *g = program;
    for (uint32_t v = 0; v < g->network.nodes; v++) {
        uint64_t uses = 1 + network_degree(&g->network, v);
        if (!gnn_has_features(g)) {
            count[v] = uses;
            continue;
        }
        for (uint64_t i = g->features.start[v]; i < g->features.start[v + 1]; i++)
            count[g->features.index[i]] += uses;
    }
}

/* In a model file the last layer is layer2, with one before it or not. */
static size_t first_layer(const struct gnn *g)
{
    return 3 - g->plan.count;
}

static void init_model(const struct gnn *g, struct pool_member *m)
{
    const struct settings *o = &g->options.common;
    bool has_features = gnn_has_features(g);
    const struct warm_part part = {has_features ? "layer1.weight" : "embeddings",
                                   has_features ? "features" : "nodes", 0, gnn_width(g)};
    warm_init(m, GNN_INPUTS, o->from, &part, 1,
              has_features ? &g->features.names : &g->network.names, draw_row, g);
    warm_check_names(o->from, "classes", &g->labels.names);
    dense_rows_init(&g->plan, m, GNN_DENSE, o->seed, o->from, first_layer(g));
}

static void begin(struct training_worker *w, bool goes_on)
{
    struct gnn *g = w->program;
    struct pool_member *m = w->member;
    struct worker *own = w->state;
    pool_meet_here(m);
    if (m->index == 0 && g->parts != pool_nodes(m)) cut(g, pool_nodes(m));
    pool_meet_here(m);
    if (!goes_on) init_model(g, m);
    training_keep_hot(w, gnn_inputs(g), count_uses);
    if (m->index == 0) dense_rows_keep(&g->plan, m, GNN_DENSE);
    pool_quiesce(m);
    accuracy_open(&own->judge, g, m);
    convolution_open(&own->convolution, g, m, g->options.batch, g->options.neighbours);
    epochs_open(&own->epochs, g, m, w->progress.epochs);
    w->total = own->epochs.count;
    /* Getting ready is not part of the first epoch. */
    pool_quiesce(m);
}

static void epoch(struct training_worker *w)
{
    convolution_begin(&((struct worker *)w->state)->convolution, w->progress.epochs);
}

static bool step(struct training_worker *w, struct training_sums *sums)
{
    struct worker *own = w->state;
    const struct neighbourhood *h = epochs_next(&own->epochs);
    sums->examples += h->tops;
    sums->loss += convolution_train(&own->convolution, h);
    sums->done += h->tops;
    world_computed(WORLD_TRAINED, h->tops);
    return h->is_last;
}

static void flush(struct training_worker *w)
{
    convolution_flush(&((struct worker *)w->state)->convolution);
}

static void report(void *program, const struct training_epoch *e)
{
    double loss = e->examples > 0 ? e->loss / e->examples : 0;
    const struct figure figure = {"loss ",      8, 4, .name = "loss", .curve = "Loss of a node",
                                  .value = loss};
    (void)program;
    training_say_epoch(e, &figure, 1);
}

/* ---- how good it is ---- */

static void say_accuracy(const struct gnn *g, const struct accuracy *a)
{
    bool validates = g->labels.count[LABELS_VALIDATE] > 0, tests = g->labels.count[LABELS_TEST] > 0;
    const struct figure figures[] = {
        {.name = "split", .text = "test"},
        {validates ? "validation " : NULL, 0, 4, .curve = validates ? "Accuracy, valid" : NULL,
         .value = a->validation},
        {tests ? "test " : NULL, 0, 4, .name = "accuracy", .curve = tests ? "Accuracy, test" : NULL,
         .value = a->test},
        {tests ? "F1 " : NULL, 0, 4, .name = "f1", .value = a->f1},
        {.name = "validation_accuracy", .value = a->validation},
        FIGURE_TOOK(a->seconds),
    };
    figures_say(g->options.common.json, "eval", "accuracy ", figures,
                sizeof figures / sizeof *figures);
}

static bool chooses(const void *program)
{
    const struct gnn *g = program;
    return every_is_ever(&g->options.common.evaluates) && g->labels.count[LABELS_VALIDATE] > 0;
}

static double validate(struct training_worker *w)
{
    const struct gnn *g = w->program;
    if (g->labels.count[LABELS_VALIDATE] + g->labels.count[LABELS_TEST] == 0) return 0;
    struct accuracy a = accuracy_take(&((struct worker *)w->state)->judge);
    if (training_is_first(w)) say_accuracy(g, &a);
    return a.validation;
}

static void parameters(const void *program, size_t floats[TRAINING_MODEL_TABLES])
{
    const struct gnn *g = program;
    floats[GNN_INPUTS] = gnn_width(g);
    floats[GNN_DENSE] = g->plan.length;
}

/* What is reached without learning anything: each has the most frequent class of those to train
 * with. */
static void say_trivial(const struct gnn *g)
{
    const struct labels *l = &g->labels;
    if (l->count[LABELS_TEST] == 0) return;
    uint32_t *seen = take_memory(l->classes, sizeof *seen), best = 0, right = 0;
    for (uint32_t i = 0; i < l->count[LABELS_TRAIN]; i++)
        seen[l->class_of[l->list[LABELS_TRAIN][i]]]++;
    for (uint32_t class = 1; class < l->classes; class ++)
        if (seen[class] > seen[best]) best = class;
    for (uint32_t i = 0; i < l->count[LABELS_TEST]; i++)
        right += l->class_of[l->list[LABELS_TEST][i]] == best;
    free(seen);
    const struct figure figure = {"test ",
                                  0,
                                  4,
                                  " of the most frequent class alone",
                                  .name = "accuracy_of_most_frequent",
                                  .value = (double)right / l->count[LABELS_TEST]};
    figures_say(g->options.common.json, "trivial", "         ", &figure, 1);
}

/* What is said last is what is saved. */
static void end(struct training_worker *w)
{
    bool is_said = w->training->kept && training_epoch_of(w) == training_epochs(w);
    pool_quiesce(w->member);
    if (!is_said || w->progress.epochs == 0) validate(w);
    if (training_is_first(w)) say_trivial(w->program);
}

static void rest(struct training_worker *w)
{
    struct worker *own = w->state;
    epochs_close(&own->epochs);
    convolution_close(&own->convolution);
    accuracy_close(&own->judge);
}

static void note(struct tensors *t, const struct gnn *g)
{
    tensors_note(t, "model", "graph convolution");
    tensors_note(t, "average", "mean");
    tensors_note(t, "weights", "false");
    tensors_note_count(t, "neighbours", g->options.neighbours);
    tensors_note(t, "data", g->options.common.data);
}

static void save(struct training_worker *w)
{
    const struct gnn *g = w->program;
    struct pool_member *m = w->member;
    const struct names *nodes = &g->network.names, *classes = &g->labels.names,
                       *features = &g->features.names;
    struct tensors t;
    if (!g->options.common.out) return;
    tensors_open(&t, g->options.common.out);
    note(&t, g);
    tensors_declare(&t, gnn_has_features(g) ? "layer1.weight" : "embeddings", TENSORS_F32,
                    gnn_inputs(g), gnn_width(g));
    dense_file_declare(&g->plan, first_layer(g), &t);
    tensors_declare_names(&t, "nodes", nodes);
    tensors_declare_names(&t, "classes", classes);
    tensors_declare_names(&t, "features", features);
    tensors_begin(&t);
    rows_save(m, GNN_INPUTS, 0, gnn_width(g), &t);
    dense_file_write(&g->plan, m, GNN_DENSE, &t);
    tensors_write_names(&t, nodes);
    tensors_write_names(&t, classes);
    tensors_write_names(&t, features);
    tensors_close(&t);
}

const struct training_kind gnn_training = {.name = "locus-gnn",
                                           .about = about,
                                           .more = more,
                                           .unit = "nodes",
                                           .rate = "Nodes trained a second",
                                           .program_bytes = sizeof(struct gnn),
                                           .worker_bytes = sizeof(struct worker),
                                           TRAINING_JOB,
                                           TRAINING_LOOP,
                                           .epoch = epoch,
                                           .flush = flush,
                                           .chooses = chooses,
                                           .validate = validate,
                                           .parameters = parameters,
                                           .close = rest,
                                           .rest = rest};
