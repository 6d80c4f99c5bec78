#include "network.h"

#include "digest.h"
#include "fail.h"
#include "rng.h"

#include <stdlib.h>

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
    n->edges = make_room(n->edges, n->count, &n->capacity, sizeof *n->edges, "edges");
    n->edges[n->count++] = (struct network_edge){from, to};
}

/* ---- a file ---- */

uint32_t network_node(struct network *n, const struct lines *l, struct field name)
{
    uint32_t node = names_add(&n->names, name.text, name.length);
    if (node >= NETWORK_NODES_MAX) lines_fail(l, "there are more than %d nodes", NETWORK_NODES_MAX);
    return node;
}

void network_load(struct network *n, const char *path)
{
    struct lines l;
    struct field end[2];
    lines_open(&l, path, "node TAB node");
    while (lines_next(&l)) {
        lines_take_fields(&l, end, 2);
        lines_refuse_heading(&l, end, 2);
        uint32_t from = network_node(n, &l, end[0]);
        network_add(n, from, network_node(n, &l, end[1]));
    }
    lines_close(&l);
    n->linked = n->names.count;
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
        uint64_t at[2] = {n->start[e.from + 1]++, n->start[e.to + 1]++};
        n->neighbour[at[0]] = e.to;
        n->neighbour[at[1]] = e.from;
    }
}

/* Sorts each node's neighbours, and moves them up to where there is no gap. */
static void remove_doubles(struct network *n)
{
    uint64_t first = 0, kept = 0;
    for (uint32_t v = 0; v < n->nodes; v++) {
        uint64_t end = n->start[v + 1], own = kept;
        qsort(n->neighbour + first, end - first, sizeof *n->neighbour, by_number);
        for (uint64_t i = first; i < end; i++)
            if (kept == own || n->neighbour[kept - 1] != n->neighbour[i])
                n->neighbour[kept++] = n->neighbour[i];
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
    return names_digest(&n->names, n->names.count, digest);
}
