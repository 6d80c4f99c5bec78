#include "save.h"

#include "fail.h"
#include "plain.h"
#include "rows.h"
#include "tensors.h"
#include "vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 5 };

void save_model(const struct task *task, struct pool_member *m)
{
    const struct model *model = &task->model;
    struct tensors t;
    tensors_open(&t, task->options.common.out);
    tensors_note(&t, "model", model->kind == MODEL_COMPLEX ? "complex" : "rescal");
    tensors_note_count(&t, "dim", model->dim);
    tensors_note(&t, "reciprocal", model->is_reciprocal ? "true" : "false");
    tensors_note(&t, "data", task->options.source);
    tensors_declare(&t, "entities", TENSORS_F32, model->entities, model->dim);
    tensors_declare(&t, "relations", TENSORS_F32, model_relation_rows(model),
                    model_relation_floats(model));
    tensors_declare(&t, "entity_names", TENSORS_U8, task->graph.entities.text_length, 0);
    tensors_declare(&t, "relation_names", TENSORS_U8, task->graph.relations.text_length, 0);
    tensors_begin(&t);
    rows_save(m, 0, 0, model->dim, &t);
    rows_save(m, 1, 0, model_relation_floats(model), &t);
    tensors_write_names(&t, &task->graph.entities);
    tensors_write_names(&t, &task->graph.relations);
    tensors_close(&t);
}

/* ---- neighbours ---- */

/* All entities, each of length 1. */
struct directions {
    float *values;
    size_t dim;
};

static void keep_direction(void *directions, uint64_t row, const float *values)
{
    struct directions *d = directions;
    float *to = d->values + row * d->dim;
    float length = sqrtf(vec_best()->dot(values, values, d->dim));
    for (size_t i = 0; i < d->dim; i++) to[i] = length > 0 ? values[i] / length : 0;
}

static void show_neighbours(const struct task *task, const struct directions *d, uint32_t entity)
{
    uint32_t best[NEIGHBOURS];
    float cosines[NEIGHBOURS];
    size_t n = 0;
    const float *own = d->values + entity * d->dim;
    for (uint32_t e = 0; e < task->model.entities; e++) {
        if (e == entity) continue;
        float cosine = vec_best()->dot(own, d->values + e * d->dim, d->dim);
        if (n == NEIGHBOURS && cosine <= cosines[n - 1]) continue;
        size_t at = n < NEIGHBOURS ? n++ : n - 1;
        for (; at > 0 && cosines[at - 1] < cosine; at--) {
            cosines[at] = cosines[at - 1];
            best[at] = best[at - 1];
        }
        cosines[at] = cosine;
        best[at] = e;
    }
    plain_print("  %-20s", names_get(&task->graph.entities, entity));
    for (size_t i = 0; i < n; i++)
        plain_print("%s%s %.2f", i ? ", " : "  ", names_get(&task->graph.entities, best[i]),
                    cosines[i]);
    printf("\n");
}

/* The entity of that name, or WordNet's first sense of a word: as a noun, a verb, an adjective or
 * an adverb. */
static uint32_t entity_of(const struct names *n, const char *word, size_t length)
{
    static const char *const endings[] = {"", ".n.01", ".v.01", ".a.01", ".r.01"};
    char name[256];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%.*s%s", (int)length, word, endings[i]);
        uint32_t entity = names_find(n, name, strlen(name));
        if (entity != NAMES_NONE) return entity;
    }
    return NAMES_NONE;
}

void save_show_neighbours(const struct task *task, struct pool_member *m)
{
    struct directions d = {.dim = task->model.dim};
    d.values = take_memory(task->model.entities * d.dim, sizeof(float));
    rows_visit(m, 0, 0, task->model.entities, keep_direction, &d);
    printf("nearest neighbours, by the cosine:\n");
    for (const char *word = task->options.near; *word;) {
        size_t length = strcspn(word, ",");
        uint32_t entity = entity_of(&task->graph.entities, word, length);
        if (entity == NAMES_NONE) {
            printf("  %-20.*s  (no such entity)\n", (int)length, word);
        } else {
            show_neighbours(task, &d, entity);
        }
        word += length + (word[length] == ',');
    }
    free(d.values);
}
