#include "network.h"

#include "digest.h"
#include "fail.h"
#include "fields.h"
#include "lines.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

void network_init(struct network *n)
{
    *n = (struct network){0};
    names_init(&n->names);
}

void network_fini(struct network *n)
{
    names_fini(&n->names);
    free(n->start);
    free(n->neighbour);
    free(n->edges);
    *n = (struct network){0};
}

void network_add(struct network *n, uint32_t from, uint32_t to)
{
    if (n->count == n->capacity) {
        n->capacity = n->capacity ? n->capacity + n->capacity / 2 : 1024;
        struct network_edge *larger = realloc(n->edges, n->capacity * sizeof *larger);
        if (!larger) fail("%zu edges find no memory", n->capacity);
        n->edges = larger;
    }
    n->edges[n->count++] = (struct network_edge){from, to};
}

/* ---- a file ---- */

struct edge_file {
    struct lines lines;
    struct field first[2]; /* of the first line, which may be a heading */
    uint64_t first_number;
    bool has_first;
};

static uint32_t node_of(struct network *n, const struct lines *l, struct field f)
{
    if (f.length == 0) lines_fail(l, "has a node without a name");
    uint32_t node = names_add(&n->names, f.text, f.length);
    if (node >= NETWORK_NODES_MAX) lines_fail(l, "there are more than %d nodes", NETWORK_NODES_MAX);
    return node;
}

static void add_line(struct network *n, const struct lines *l, const struct field *f)
{
    uint32_t from = node_of(n, l, f[0]);
    network_add(n, from, node_of(n, l, f[1]));
}

/* The first line waits for the second one, which tells whether it is a heading. */
static void read_line(struct network *n, struct edge_file *e)
{
    const struct lines *l = &e->lines;
    struct field f[2];
    size_t count = fields_split(l, f, 2);
    if (count == 0) return;
    if (count < 2) lines_fail(l, "has one field; an edge has the names of two nodes");
    if (!e->has_first) {
        e->has_first = true;
        e->first_number = l->number;
        memcpy(e->first, f, sizeof f);
        return;
    }
    if (e->first_number > 0) {
        bool is_heading = fields_is_number(f[0]) && fields_is_number(f[1]) &&
                          !fields_is_number(e->first[0]) && !fields_is_number(e->first[1]);
        if (!is_heading) add_line(n, l, e->first);
        e->first_number = 0;
    }
    add_line(n, l, f);
}

void network_load(struct network *n, const char *path)
{
    struct edge_file e = {0};
    lines_open(&e.lines, path);
    while (lines_next(&e.lines)) {
        if (!fields_is_comment(&e.lines)) read_line(n, &e);
    }
    if (e.first_number > 0) add_line(n, &e.lines, e.first); /* the only one */
    lines_close(&e.lines);
    if (n->count == 0) fail("%s has no edges", path);
}

/* ---- neighbours ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void place_edges(struct network *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct network_edge e = n->edges[i];
        if (e.from == e.to) continue;
        n->neighbour[n->start[e.from + 1]++] = e.to;
        n->neighbour[n->start[e.to + 1]++] = e.from;
    }
}

/* Sorts each node's neighbours, and moves them up to where there is no gap. */
static void remove_doubles(struct network *n)
{
    uint64_t first = 0, kept = 0;
    for (uint32_t v = 0; v < n->nodes; v++) {
        uint64_t end = n->start[v + 1];
        qsort(n->neighbour + first, end - first, sizeof *n->neighbour, by_number);
        uint64_t own = kept;
        for (uint64_t i = first; i < end; i++) {
            if (kept > own && n->neighbour[kept - 1] == n->neighbour[i]) continue;
            n->neighbour[kept++] = n->neighbour[i];
        }
        first = end;
        n->start[v + 1] = kept;
    }
}

void network_finish(struct network *n)
{
    if (n->names.count > 0) n->nodes = n->names.count;
    n->start = take_memory((size_t)n->nodes + 2, sizeof *n->start);
    /* Counted two places on: after placing, start[v + 1] is the end of v's. */
    for (size_t i = 0; i < n->count; i++) {
        if (n->edges[i].from == n->edges[i].to) continue;
        n->start[n->edges[i].from + 2]++;
        n->start[n->edges[i].to + 2]++;
    }
    for (uint32_t v = 0; v < n->nodes; v++) n->start[v + 2] += n->start[v + 1];
    n->neighbour = take_memory(n->start[n->nodes + 1] + 1, sizeof *n->neighbour);
    place_edges(n);
    remove_doubles(n);
    free(n->edges);
    n->edges = NULL;
    n->count = n->capacity = 0;
    if (n->start[n->nodes] == 0) fail("the graph has no edge between different nodes");
}

uint64_t network_digest(const struct network *n)
{
    uint64_t digest = digest_add(DIGEST_FIRST, &n->nodes, sizeof n->nodes);
    for (uint32_t v = 0; v <= n->nodes; v++) digest = rng_mix(digest ^ n->start[v]);
    for (uint64_t i = 0; i < n->start[n->nodes]; i++) digest = rng_mix(digest ^ n->neighbour[i]);
    return digest_add(digest, n->names.text, n->names.text_length);
}
