#include "ctr_save.h"

#include "fail.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 48 };

static void write_layer(const struct ctr *c, struct pool_member *m, size_t layer, struct tensors *t)
{
    const struct dense_plan_layer *l = &c->plan.layers[layer];
    size_t weights = l->inputs * l->outputs;
    float *all = take_memory(weights + l->outputs, sizeof *all);
    dense_rows_collect(&c->plan, m, CTR_LAYERS, layer, all);
    tensors_write(t, all, weights * sizeof *all);
    tensors_write(t, all + weights, l->outputs * sizeof *all);
    free(all);
}

void ctr_save(const struct ctr *c, struct pool_member *m)
{
    const struct names *names = &c->clicks.names;
    char name[NAME_BYTES];
    struct tensors t;
    tensors_open(&t, c->options.common.out);
    tensors_note(&t, "model", "wide & deep");
    tensors_note_count(&t, "fields", c->fields);
    tensors_note_count(&t, "hash_bits", c->options.hash_bits);
    tensors_note(&t, "data", ctr_source(c));
    tensors_declare(&t, "wide", TENSORS_F32, c->features, 0);
    tensors_declare(&t, "vectors", TENSORS_F32, c->features, c->options.dim);
    for (size_t i = 0; i < c->plan.count; i++) {
        snprintf(name, sizeof name, "layer%zu.weight", i);
        tensors_declare(&t, name, TENSORS_F32, c->plan.layers[i].inputs, c->plan.layers[i].outputs);
        snprintf(name, sizeof name, "layer%zu.bias", i);
        tensors_declare(&t, name, TENSORS_F32, c->plan.layers[i].outputs, 0);
    }
    if (names->count > 0) tensors_declare(&t, "features", TENSORS_U8, names->text_length, 0);
    tensors_begin(&t);
    rows_save(m, CTR_FEATURES, 0, 1, &t);
    rows_save(m, CTR_FEATURES, 1, c->options.dim, &t);
    for (size_t i = 0; i < c->plan.count; i++) write_layer(c, m, i, &t);
    if (names->count > 0) tensors_write_names(&t, names);
    tensors_close(&t);
}
