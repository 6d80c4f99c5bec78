#include "features.h"

#include "digest.h"
#include "fail.h"
#include "ids.h"
#include "libsvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As the lines come. */
struct reading {
    struct line {
        uint32_t node;
        size_t end; /* of its values */
    } * lines;
    struct pair {
        uint32_t index;
        float value;
    } * pairs;
    size_t line_count, line_capacity, pair_count, pair_capacity;
};

/* What is behind the tab is for libsvm_pair(). */
static uint32_t node_of_line(struct libsvm *s, struct network *n)
{
    const struct lines *l = &s->lines;
    const char *tab = memchr(l->text, '\t', l->length), *end = l->text + l->length;
    if (!tab || tab == l->text) lines_fail(l, "has no name of a node with a tab after it");
    s->at = tab + 1 == end ? end : tab;
    return network_node(n, l, (struct field){l->text, (size_t)(tab - l->text)});
}

static void read_pairs(struct features *f, struct reading *r, struct libsvm *s)
{
    struct libsvm_pair p;
    size_t first = r->pair_count;
    double sum = 0;
    while (libsvm_pair(s, "feature", &p)) {
        if (p.has_field) lines_fail(&s->lines, "has two colons in an index:value");
        if (p.index >= f->count) f->count = p.index + 1;
        r->pairs = make_room(r->pairs, r->pair_count, &r->pair_capacity, sizeof *r->pairs,
                             "values of features");
        float value = lines_take_float(&s->lines, p.value, "value of a feature");
        r->pairs[r->pair_count++] = (struct pair){p.index, value};
        sum += fabs((double)value);
    }
    for (size_t i = first; i < r->pair_count && sum > 0; i++)
        r->pairs[i].value = (float)((double)r->pairs[i].value / sum);
}

static void read_lines(struct features *f, struct reading *r, struct network *n, const char *path)
{
    static const char form[] = "node TAB index:value ...";
    struct libsvm s;
    libsvm_open(&s, path, form);
    while (lines_next(&s.lines)) {
        r->lines = make_room(r->lines, r->line_count, &r->line_capacity, sizeof *r->lines,
                             "nodes with features");
        struct line *line = &r->lines[r->line_count++];
        line->node = node_of_line(&s, n);
        read_pairs(f, r, &s);
        line->end = r->pair_count;
    }
    libsvm_close(&s);
    if (f->count == 0) lines_fail_at(path, 0, form, "has no features");
}

/* Each node has a line, and only one. */
static void check_nodes(const struct reading *r, const struct names *names, const char *path)
{
    uint8_t *seen = take_memory(names->count, 1);
    for (size_t i = 0; i < r->line_count; i++)
        if (seen[r->lines[i].node]++)
            fail("%s has two lines of the node \"%.60s\"", path,
                 names_get(names, r->lines[i].node));
    for (uint32_t v = 0; v < names->count; v++)
        if (!seen[v]) fail("%s has no line of the node \"%.60s\"", path, names_get(names, v));
    free(seen);
}

/* Lines become nodes, whose numbers are others. */
static void sort_lines(struct features *f, const struct reading *r)
{
    size_t from = 0;
    for (size_t i = 0; i < r->line_count; i++) {
        f->start[r->lines[i].node + 1] = r->lines[i].end - from;
        from = r->lines[i].end;
    }
    for (uint32_t v = 0; v < f->nodes; v++) f->start[v + 1] += f->start[v];
    for (size_t i = 0, at = 0; i < r->line_count; i++)
        for (uint64_t to = f->start[r->lines[i].node]; at < r->lines[i].end; at++, to++) {
            f->index[to] = r->pairs[at].index;
            f->value[to] = r->pairs[at].value;
        }
}

void features_load(struct features *f, struct network *n, const char *path)
{
    struct reading r = {0};
    *f = (struct features){0};
    names_init(&f->names);
    read_lines(f, &r, n, path);
    check_nodes(&r, &n->names, path);
    f->nodes = n->names.count;
    f->start = take_memory((size_t)f->nodes + 1, sizeof *f->start);
    f->index = take_memory(r.pair_count, sizeof *f->index);
    f->value = take_memory(r.pair_count, sizeof *f->value);
    sort_lines(f, &r);
    ids_number(f->index, r.pair_count, sizeof *f->index, &f->count, 0, &f->names);
    free(r.lines);
    free(r.pairs);
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
