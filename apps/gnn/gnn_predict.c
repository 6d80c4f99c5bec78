#include "dense.h"
#include "fail.h"
#include "features.h"
#include "predict.h"
#include "programs.h"
#include "vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct using
{
    const char *features_path; /* --features */
    bool is_mean;
    size_t width, hidden, classes;   /* of a row, of a hidden layer; how many */
    const struct saved_tensor *rows; /* of nodes, or of features */
    struct names row_names, class_names;
    struct dense first, last; /* the first without features only */
    struct network network;
    struct features features;
};

static void options(void *using, struct args_list *list)
{
    struct using *u = using;
    const struct args_option features[] = {
        OPTION_TEXT("--features", "FILE", &u->features_path, 0,
                    "of the nodes, as LIBSVM: for a model that was trained\nwith features")};
    args_add(list, features, 1);
}

/* ---- the model ---- */

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    u->rows = saved_find(s, "embeddings", TENSORS_F32);
    bool has_features = !u->rows;
    if (has_features) u->rows = saved_find(s, "layer1.weight", TENSORS_F32);
    if (!u->rows || u->rows->columns == 0 || u->rows->rows > NAMES_NONE)
        saved_fail(s, "has neither \"embeddings\" nor \"layer1.weight\"");
    if (has_features != (u->features_path != NULL))
        fail_usage("%s was trained %s --features: %s it", s->file.path,
                   has_features ? "with" : "without", has_features ? "give" : "leave out");
    u->is_mean = !saved_note(s, "average") || saved_says(s, "average", "mean");
    u->width = u->hidden = u->rows->columns;
    if (!has_features) {
        dense_file_open(&u->first, s, 1, u->width, true);
        u->hidden = u->first.outputs;
    }
    dense_file_open(&u->last, s, 2, u->hidden, false);
    u->classes = u->last.outputs;
    saved_names(s, has_features ? "features" : "nodes", u->rows->rows, &u->row_names);
    saved_names(s, "classes", u->classes, &u->class_names);
    network_init(&u->network);
    u->network.is_weighted = saved_says(s, "weights", "true");
    network_load(&u->network, p->path);
    network_finish(&u->network);
    if (has_features) features_load(&u->features, &u->network, u->features_path);
}

/* ---- the graph ---- */

/* What the model calls a node, or a feature; NAMES_NONE: it does not know it. */
static uint32_t row_of(const struct using *u, const struct names *names, uint32_t number)
{
    char text[PREDICT_NUMBER_BYTES];
    return predict_row(&u->row_names, u->rows->rows, predict_called(names, number, 0, text), 0);
}

/* The inputs of all nodes; what the model does not know is 0. */
static float *inputs_of(struct predict *p)
{
    const struct using *u = p->program;
    const struct features *f = &u->features;
    uint32_t nodes = u->network.nodes, known = u->features_path ? f->count : nodes;
    float *inputs = take_memory(nodes * u->width + 1, sizeof *inputs);
    uint32_t *rows = take_memory(known + (size_t)1, sizeof *rows);
    for (uint32_t i = 0; i < known; i++)
        rows[i] = row_of(u, u->features_path ? &f->names : &u->network.names, i);
    for (uint32_t v = 0; v < nodes; v++) {
        float *to = inputs + v * u->width;
        if (!u->features_path && rows[v] != NAMES_NONE)
            memcpy(to, saved_row(u->rows, rows[v]), u->width * sizeof *to);
        for (uint64_t i = f->start ? f->start[v] : 0; f->start && i < f->start[v + 1]; i++)
            if (rows[f->index[i]] != NAMES_NONE)
                vec_best()->add_scaled(to, f->value[i], saved_row(u->rows, rows[f->index[i]]),
                                       u->width);
    }
    free(rows);
    return inputs;
}

/* The weighted sum over a node and all its neighbours. */
static void sum(const struct using *u, uint32_t node, const float *values, size_t width, float *to)
{
    const struct network *n = &u->network;
    const struct vec *v = vec_best();
    float own = 1 + network_strength(n, node);
    v->set_scaled(to, 1 / own, values + node * width, width);
    for (uint64_t i = n->start[node]; i < n->start[node + 1]; i++) {
        uint32_t other = n->neighbour[i];
        float all = u->is_mean ? own : sqrtf(own * (1 + network_strength(n, other)));
        v->add_scaled(to, network_weight(n, i) / all, values + other * width, width);
    }
}

static void say(struct predict *p, uint32_t node, float *odds)
{
    const struct using *u = p->program;
    const struct vec *v = vec_best();
    uint32_t best = 0;
    float all = v->exponentials(odds, u->classes, v->maximum(odds, u->classes));
    for (uint32_t c = 1; c < u->classes; c++)
        if (odds[c] > odds[best]) best = c;
    predict_name(p, "node", &u->network.names, node, 0);
    predict_name(p, "class", &u->class_names, best, 0);
    predict_number(p, "probability", (double)(odds[best] / all));
    predict_end(p);
}

static void all(struct predict *p)
{
    struct using *u = p->program;
    uint32_t nodes = u->network.nodes;
    float *inputs = inputs_of(p), *hidden = take_memory(nodes * u->hidden + 1, sizeof *hidden);
    float *sums = take_memory(u->width > u->hidden ? u->width : u->hidden, sizeof *sums),
          *odds = take_memory(u->classes, sizeof *odds);
    for (uint32_t v = 0; v < nodes; v++) {
        float *to = hidden + v * u->hidden;
        sum(u, v, inputs, u->width, u->features_path ? to : sums);
        if (!u->features_path) dense_forward(&u->first, sums, to, 1);
        for (size_t i = 0; i < u->hidden; i++) to[i] = to[i] > 0 ? to[i] : 0;
    }
    for (uint32_t v = 0; v < nodes; v++) {
        sum(u, v, hidden, u->hidden, sums);
        dense_forward(&u->last, sums, odds, 1);
        say(p, v, odds);
    }
    free(inputs);
    free(hidden);
    free(sums);
    free(odds);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    if (!u->features_path) dense_close(&u->first);
    dense_close(&u->last);
    names_fini(&u->row_names);
    names_fini(&u->class_names);
    network_fini(&u->network);
    if (u->features_path) features_fini(&u->features);
}

const struct predict_kind gnn_predict_kind = {
    .model = "|graph convolution|",
    .about =
        "Finds the class of each node of a graph by a model that locus-gnn has saved, from all its neighbours.\n"
        "FILE, or stdin, has edges as for --data; nodes may be new: of one without features of its own, what its neighbours\n"
        "say counts.",
    .more = "A line out: node, class and how likely it is.\n\n"
            "example:\n"
            "  locus-gnn predict --features nodes.svm model.safetensors edges.tsv",
    .program_bytes = sizeof(struct using),
    .options = options,
    .open = open,
    .all = all,
    .close = close};
