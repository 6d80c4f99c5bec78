#include "clicks_read.h"
#include "dense.h"
#include "fail.h"
#include "libsvm.h"
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
    size_t dim, fields, layers;
    const struct saved_tensor *wide, *vectors;
    struct dense layer[DENSE_LAYERS_MAX];
    float *values[DENSE_LAYERS_MAX + 1];
    struct clicks clicks; /* the model's features and columns, and the entries of an example */
    struct clicks_source source;
};

/* ---- the model ---- */

/* The last layer has one output, and is the only one that is not rectified. */
static void open_layers(struct using *u, const struct saved *s)
{
    char next[32];
    size_t inputs = u->fields * u->dim;
    u->values[0] = take_memory(inputs + 1, sizeof(float));
    do {
        if (u->layers == DENSE_LAYERS_MAX) saved_fail(s, "has too many layers");
        struct dense *d = &u->layer[u->layers];
        dense_file_open(d, s, u->layers, inputs, true);
        inputs = d->outputs;
        u->values[++u->layers] = take_memory(inputs, sizeof(float));
        snprintf(next, sizeof next, "layer%zu.weight", u->layers);
    } while (saved_find(s, next, TENSORS_F32));
    if (inputs != 1) saved_fail(s, "its last layer has %zu outputs, and not one", inputs);
    u->layer[u->layers - 1].is_rectified = false;
}

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    u->dim = (size_t)saved_number(s, "dim");
    u->fields = (size_t)saved_number(s, "fields");
    u->wide = saved_take(s, "wide", TENSORS_F32, 0, 0);
    u->vectors = saved_take(s, "vectors", TENSORS_F32, u->wide->rows, u->dim);
    u->source = (struct clicks_source){.test = p->path,
                                       .hash_bits = (unsigned)saved_number(s, "hash_bits")};
    if (u->fields < 1 || u->fields > CLICKS_FIELDS_MAX)
        saved_fail(s, "\"fields\" must be from 1 to %d", CLICKS_FIELDS_MAX);
    open_layers(u, s);
    clicks_init(&u->clicks);
    names_fini(&u->clicks.names);
    saved_names(s, "features", u->wide->rows, &u->clicks.names);
    u->clicks.format = saved_says(s, "format", "csv")      ? FORMAT_CSV
                       : saved_says(s, "format", "criteo") ? FORMAT_CRITEO
                                                           : FORMAT_LIBSVM;
    if (u->clicks.format != FORMAT_CSV) return;
    clicks_columns_load(&u->clicks.columns, s);
    size_t features = 0;
    for (size_t i = 0; i < u->clicks.columns.count; i++) {
        int64_t kind = u->clicks.columns.kind[i];
        features += kind == CLICKS_WORDS || kind == CLICKS_NUMBERS;
    }
    if (u->fields != features) saved_fail(s, "its columns of words and numbers are not its fields");
}

/* ---- an example ---- */

static void say(void *predict, const struct clicks *c)
{
    struct predict *p = predict;
    struct using *u = p->program;
    float logit = 0;
    memset(u->values[0], 0, u->fields * u->dim * sizeof(float));
    for (uint64_t i = 0; i < c->entries; i++) {
        uint32_t feature = c->features[i];
        if (feature >= u->wide->rows || c->fields[i] >= u->fields) continue;
        logit += c->values[i] * *saved_row(u->wide, feature);
        vec_best()->add_scaled(u->values[0] + c->fields[i] * u->dim, c->values[i],
                               saved_row(u->vectors, feature), u->dim);
    }
    for (size_t i = 0; i < u->layers; i++)
        dense_forward(&u->layer[i], u->values[i], u->values[i + 1], 1);
    logit += *u->values[u->layers];
    predict_number(p, "probability", 1 / (1 + exp(-(double)logit)));
    predict_end(p);
}

/* LIBSVM. Without fields the first feature is in the first field, and so on; or all in one. */
static void answer(struct predict *p)
{
    struct using *u = p->program;
    struct libsvm line;
    struct libsvm_pair pair;
    uint32_t position = 0;
    u->clicks.entries = 0;
    for (libsvm_take_line(&line, &p->lines); libsvm_pair(&line, "feature", &pair); position++) {
        char text[16];
        uint32_t field = pair.has_field ? pair.field : u->fields > 1 ? position : 0;
        float value = lines_take_float(&p->lines, pair.value, "value");
        snprintf(text, sizeof text, "%" PRIu32, pair.index);
        uint32_t feature =
            predict_row(&u->clicks.names, u->wide->rows, (struct field){text, strlen(text)}, 0);
        if (field >= u->fields)
            lines_fail(&p->lines, "feature %" PRIu32 " is in field %" PRIu32 ": the model has %zu",
                       pair.index, field, u->fields);
        if (feature != NAMES_NONE) clicks_add(&u->clicks, feature, field, value);
    }
    say(p, &u->clicks);
}

static void all(struct predict *p)
{
    struct using *u = p->program;
    if (u->clicks.format == FORMAT_CSV)
        clicks_visit_csv(&u->clicks, &u->source, say, p);
    else if (u->clicks.format == FORMAT_CRITEO)
        clicks_visit_criteo(&u->clicks, &u->source, say, p);
    else
        predict_lines(p);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    for (size_t i = 0; i <= u->layers; i++) free(u->values[i]);
    for (size_t i = 0; i < u->layers; i++) dense_close(&u->layer[i]);
    clicks_fini(&u->clicks);
}

const struct predict_kind ctr_predict_kind = {
    .model = "|wide & deep|",
    .about =
        "Says how likely a click is for each example of FILE, or of stdin, by a model that locus-ctr has saved. FILE\n"
        "has the format of the file that was trained with; a label is passed over, or may be left out.",
    .more = "A probability a line out. Features that the model does not know are left out.\n\n"
            "example:\n"
            "  locus-ctr predict model.safetensors today.csv > probabilities",
    .program_bytes = sizeof(struct using),
    .open = open,
    .answer = answer,
    .all = all,
    .close = close};
