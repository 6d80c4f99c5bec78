#include "gnn_save.h"

#include "fail.h"
#include "rows.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

static void note(struct tensors *t, const struct gnn *g)
{
    const struct gnn_options *o = &g->options;
    tensors_note(t, "model", "graph convolution");
    tensors_note(t, "average", o->average == GNN_MEAN ? "mean" : "symmetric");
    tensors_note_count(t, "neighbours", o->test_neighbours);
    tensors_note(t, "data", o->common.data ? o->common.data : o->planted);
}

/* The last layer is layer2, with one before it or not. */
static void declare_layers(struct tensors *t, const struct gnn *g)
{
    for (size_t i = 0; i < g->plan.count; i++) {
        const struct dense_plan_layer *l = &g->plan.layers[i];
        char name[32];
        size_t number = 3 - g->plan.count + i;
        snprintf(name, sizeof name, "layer%zu.weight", number);
        tensors_declare(t, name, TENSORS_F32, l->inputs, l->outputs);
        snprintf(name, sizeof name, "layer%zu.bias", number);
        tensors_declare(t, name, TENSORS_F32, l->outputs, 0);
    }
}

/* Biases are behind the weights. */
static void write_layers(struct tensors *t, const struct gnn *g, struct pool_member *m)
{
    for (size_t i = 0; i < g->plan.count; i++) {
        size_t count = (g->plan.layers[i].inputs + 1) * g->plan.layers[i].outputs;
        float *weights = take_memory(count, sizeof *weights);
        dense_rows_collect(&g->plan, m, GNN_DENSE, i, weights);
        tensors_write(t, weights, count * sizeof *weights);
        free(weights);
    }
}

void gnn_save(const struct gnn *g, struct pool_member *m)
{
    const struct names *nodes = &g->network.names, *classes = &g->labels.names,
                       *features = &g->features.names;
    struct tensors t;
    tensors_open(&t, g->options.common.out);
    note(&t, g);
    tensors_declare(&t, gnn_has_features(g) ? "layer1.weight" : "embeddings", TENSORS_F32,
                    gnn_inputs(g), gnn_width(g));
    declare_layers(&t, g);
    if (nodes->count > 0) tensors_declare(&t, "nodes", TENSORS_U8, nodes->text_length, 0);
    if (classes->count > 0) tensors_declare(&t, "classes", TENSORS_U8, classes->text_length, 0);
    if (features->count > 0) tensors_declare(&t, "features", TENSORS_U8, features->text_length, 0);
    tensors_begin(&t);
    rows_save(m, GNN_INPUTS, 0, gnn_width(g), &t);
    write_layers(&t, g, m);
    tensors_write_names(&t, nodes);
    tensors_write_names(&t, classes);
    tensors_write_names(&t, features);
    tensors_close(&t);
}
