#include "clusters.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>

enum { PASSES = 8 };

struct search {
    const struct network *n;
    uint32_t nodes_max, *cluster_of, *size;
    uint32_t *near; /* how many of a node's neighbours each group has */
};

/* Returns whether it moved. Of groups that are equally near it stays in its own, else takes the
 * first. */
static bool move(struct search *s, uint32_t node)
{
    const struct network *n = s->n;
    uint32_t own = s->cluster_of[node], best = own;
    for (uint64_t i = n->start[node]; i < n->start[node + 1]; i++)
        s->near[s->cluster_of[n->neighbour[i]]]++;
    for (uint64_t i = n->start[node]; i < n->start[node + 1]; i++) {
        uint32_t other = s->cluster_of[n->neighbour[i]];
        if (s->near[other] > s->near[best] && s->size[other] < s->nodes_max) best = other;
    }
    for (uint64_t i = n->start[node]; i < n->start[node + 1]; i++)
        s->near[s->cluster_of[n->neighbour[i]]] = 0;
    s->size[own]--;
    s->size[best]++;
    s->cluster_of[node] = best;
    return best != own;
}

void clusters_find(const struct network *n, const uint32_t *order, uint32_t nodes_max,
                   uint32_t *cluster_of)
{
    struct search s = {.n = n, .nodes_max = nodes_max, .cluster_of = cluster_of};
    s.size = take_memory(n->nodes, sizeof *s.size);
    s.near = take_memory(n->nodes, sizeof *s.near);
    for (uint32_t v = 0; v < n->nodes; v++) {
        cluster_of[v] = v;
        s.size[v] = 1;
    }
    uint32_t moved = n->nodes;
    for (int pass = 0; pass < PASSES && moved > n->nodes / 1000; pass++) {
        moved = 0;
        for (uint32_t i = 0; i < n->nodes; i++) moved += move(&s, order[i]);
    }
    free(s.size);
    free(s.near);
}

struct listed {
    uint32_t size, cluster, node;
};

static int by_size(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

void clusters_list(const struct network *n, const uint32_t *cluster_of, uint32_t *list)
{
    uint32_t *size = take_memory(n->nodes, sizeof *size);
    struct listed *listed = take_memory(n->nodes, sizeof *listed);
    for (uint32_t v = 0; v < n->nodes; v++) size[cluster_of[v]]++;
    for (uint32_t v = 0; v < n->nodes; v++)
        listed[v] =
            (struct listed){.size = size[cluster_of[v]], .cluster = cluster_of[v], .node = v};
    qsort(listed, n->nodes, sizeof *listed, by_size);
    for (uint32_t i = 0; i < n->nodes; i++) list[i] = listed[i].node;
    free(size);
    free(listed);
}
