#include "features.h"

#include "digest.h"
#include "fail.h"
#include "ids.h"
#include "libsvm.h"
#include "marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As the lines come. */
struct reading {
    uint32_t *node; /* of each line */
    uint64_t *end;  /* of its values */
    size_t lines, lines_capacity, values, capacity;
    uint32_t *index;
    float *value;
};

static void add_value(struct reading *r, uint32_t index, float value)
{
    if (r->values == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 4096;
        r->index = resize_memory(r->index, r->capacity, sizeof *r->index, "values of features");
        r->value = resize_memory(r->value, r->capacity, sizeof *r->value, "values of features");
    }
    r->index[r->values] = index;
    r->value[r->values++] = value;
}

static void read_line(struct features *f, struct reading *r, struct libsvm *s)
{
    struct libsvm_pair p;
    uint64_t first = r->values;
    double sum = 0;
    while (libsvm_pair(s, "feature", &p)) {
        if (p.has_field) lines_fail(&s->lines, "has two colons in an index:value");
        if (p.index >= f->count) f->count = p.index + 1;
        add_value(r, p.index, lines_take_float(&s->lines, p.value, "value of a feature"));
    }
    for (uint64_t i = first; i < r->values; i++) sum += fabs((double)r->value[i]);
    for (uint64_t i = first; i < r->values && sum > 0; i++)
        r->value[i] = (float)((double)r->value[i] / sum);
}

static void read_lines(struct features *f, struct reading *r, struct network *n, const char *path)
{
    struct libsvm s;
    struct marks_lines m = {.network = n};
    libsvm_open(&s, path);
    marks_lines_begin(&m, &s.lines);
    while (libsvm_next(&s)) {
        if (r->lines == r->lines_capacity) {
            r->lines_capacity = r->lines_capacity ? 2 * r->lines_capacity : 1024;
            r->node =
                resize_memory(r->node, r->lines_capacity, sizeof *r->node, "values of features");
            r->end = resize_memory(r->end, r->lines_capacity, sizeof *r->end, "values of features");
        }
        r->node[r->lines] = marks_lines_node(&m, &s.lines);
        read_line(f, r, &s);
        r->end[r->lines++] = r->values;
    }
    if (f->count == 0) fail("%s has no features", path);
    marks_lines_end(&m, &s.lines);
    libsvm_close(&s);
}

/* Lines become nodes, whose numbers are others. */
static void sort_lines(struct features *f, const struct reading *r)
{
    for (size_t i = 0; i < r->lines; i++)
        f->start[r->node[i] + 1] = r->end[i] - (i > 0 ? r->end[i - 1] : 0);
    for (uint32_t v = 0; v < f->nodes; v++) f->start[v + 1] += f->start[v];
    for (size_t i = 0; i < r->lines; i++) {
        uint64_t from = i > 0 ? r->end[i - 1] : 0, to = f->start[r->node[i]];
        if (r->end[i] == from) continue;
        memcpy(f->index + to, r->index + from, (r->end[i] - from) * sizeof *f->index);
        memcpy(f->value + to, r->value + from, (r->end[i] - from) * sizeof *f->value);
    }
}

void features_load(struct features *f, struct network *n, const char *path)
{
    struct reading r = {0};
    *f = (struct features){.nodes = n->nodes};
    names_init(&f->names);
    read_lines(f, &r, n, path);
    f->start = take_memory((size_t)f->nodes + 1, sizeof *f->start);
    f->index = take_memory(r.values, sizeof *f->index);
    f->value = take_memory(r.values, sizeof *f->value);
    sort_lines(f, &r);
    ids_number(f->index, r.values, sizeof *f->index, &f->count, 0, &f->names);
    free(r.node);
    free(r.end);
    free(r.index);
    free(r.value);
}

void features_fini(struct features *f)
{
    free(f->start);
    free(f->index);
    free(f->value);
    names_fini(&f->names);
    *f = (struct features){0};
}

uint64_t features_digest(const struct features *f)
{
    if (!f->start) return DIGEST_FIRST;
    uint64_t digest = digest_add(DIGEST_FIRST, f->start, (f->nodes + 1) * sizeof *f->start);
    digest = digest_add(digest, f->index, f->start[f->nodes] * sizeof *f->index);
    return digest_add(digest, f->value, f->start[f->nodes] * sizeof *f->value);
}
