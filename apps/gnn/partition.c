#include "partition.h"

#include "fail.h"
#include "rng.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- clusters ---- */

enum { CLUSTER_PASSES = 8 };

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
    for (int pass = 0; pass < CLUSTER_PASSES && moved > n->nodes / 1000; pass++) {
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

/* ---- parts ---- */

/* A part may be so much fuller than the mean. Passes after the first one know where neighbours that
 * come later were; more than these gain little. */
static const double SLACK = 1.05;
enum { PASSES = 5 };

/* Groups of a part, at least; 0: node by node from the beginning. Which is best depends on the
 * graph: all are tried. */
static const uint32_t GROUPS[] = {0, 2, 4};
enum { TRIES = sizeof GROUPS / sizeof *GROUPS };

struct stream {
    const struct network *n;
    const struct labels *l;
    uint32_t parts, *part_of;
    double *load[2], capacity[2]; /* of nodes to train with, and of others */
    uint32_t *near;               /* how many neighbours of a node each part has */
};

static int kind_of(const struct stream *s, uint32_t node)
{
    return s->l->purpose_of[node] != LABELS_TRAIN;
}

static void place(struct stream *s, uint32_t node)
{
    const struct network *n = s->n;
    int kind = kind_of(s, node);
    double *load = s->load[kind], best = -1;
    uint32_t chosen = 0;
    if (s->part_of[node] < s->parts) load[s->part_of[node]]--;
    memset(s->near, 0, s->parts * sizeof *s->near);
    for (uint64_t i = n->start[node]; i < n->start[node + 1]; i++) {
        uint32_t part = s->part_of[n->neighbour[i]];
        if (part < s->parts) s->near[part]++;
    }
    for (uint32_t p = 0; p < s->parts; p++) {
        /* Without neighbours: the emptiest. */
        double score = (s->near[p] + 1e-3) * (1 - load[p] / s->capacity[kind]);
        if (score > best) best = score, chosen = p;
    }
    if (best <= 0) /* all are full, by rounding */
        for (uint32_t p = 0; p < s->parts; p++)
            if (load[p] < load[chosen]) chosen = p;
    s->part_of[node] = chosen;
    load[chosen]++;
}

/* Nodes, each component from a random one, by distance. */
static void order_nodes(const struct network *n, uint64_t seed, uint32_t *order)
{
    struct rng rng;
    uint32_t *starts = take_memory(n->nodes, sizeof *starts), count = 0, at = 0;
    bool *is_known = take_memory(n->nodes, sizeof *is_known);
    rng_init(&rng, seed, UINT64_C(3) << 60);
    for (uint32_t v = 0; v < n->nodes; v++) starts[v] = v;
    rng_shuffle(&rng, starts, n->nodes);
    for (uint32_t i = 0; i < n->nodes; i++) {
        if (is_known[starts[i]]) continue;
        is_known[order[count++] = starts[i]] = true;
        for (; at < count; at++) {
            for (uint64_t e = n->start[order[at]]; e < n->start[order[at] + 1]; e++) {
                if (is_known[n->neighbour[e]]) continue;
                is_known[order[count++] = n->neighbour[e]] = true;
            }
        }
    }
    free(starts);
    free(is_known);
}

/* All nodes of a group go where most of its neighbours are. */
static void place_group(struct stream *s, const uint32_t *list, uint32_t count)
{
    const struct network *n = s->n;
    double best = -1, most = s->capacity[0] + s->capacity[1];
    uint32_t chosen = 0;
    memset(s->near, 0, s->parts * sizeof *s->near);
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t e = n->start[list[i]]; e < n->start[list[i] + 1]; e++) {
            uint32_t part = s->part_of[n->neighbour[e]];
            if (part < s->parts) s->near[part]++;
        }
    }
    for (uint32_t p = 0; p < s->parts; p++) {
        double score = (s->near[p] + 1e-3) * (1 - (s->load[0][p] + s->load[1][p]) / most);
        if (score > best) best = score, chosen = p;
    }
    for (uint32_t i = 0; i < count; i++) {
        s->part_of[list[i]] = chosen;
        s->load[kind_of(s, list[i])][chosen]++;
    }
}

/* What is found first is where groups go as a whole; node by node it is made even and better. */
static void place_groups(struct stream *s, const uint32_t *order, uint32_t groups)
{
    const struct network *n = s->n;
    uint32_t *cluster_of = take_memory(n->nodes, sizeof *cluster_of);
    uint32_t *list = take_memory(n->nodes, sizeof *list);
    clusters_find(n, order, n->nodes / (s->parts * groups) + 1, cluster_of);
    clusters_list(n, cluster_of, list);
    for (uint32_t first = 0, i = 1; i <= n->nodes; i++) {
        if (i < n->nodes && cluster_of[list[i]] == cluster_of[list[first]]) continue;
        place_group(s, list + first, i - first);
        first = i;
    }
    free(cluster_of);
    free(list);
}

static void cut_once(struct stream *s, const uint32_t *order, uint32_t groups)
{
    const struct network *n = s->n;
    for (int k = 0; k < 2; k++) memset(s->load[k], 0, s->parts * sizeof *s->load[k]);
    for (uint32_t v = 0; v < n->nodes; v++) s->part_of[v] = s->parts;
    if (groups > 0) place_groups(s, order, groups);
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < n->nodes; i++) place(s, order[i]);
}

void partition_cut(const struct network *n, const struct labels *l, uint32_t parts, uint64_t seed,
                   uint32_t *part_of)
{
    if (parts == 1) {
        memset(part_of, 0, n->nodes * sizeof *part_of);
        return;
    }
    struct stream s = {.n = n, .l = l, .parts = parts};
    uint32_t *order = take_memory(n->nodes, sizeof *order);
    double least = 2;
    s.part_of = take_memory(n->nodes, sizeof *s.part_of);
    s.near = take_memory(parts, sizeof *s.near);
    for (int k = 0; k < 2; k++) {
        double count = k == 0 ? l->count[LABELS_TRAIN] : n->nodes - l->count[LABELS_TRAIN];
        s.load[k] = take_memory(parts, sizeof *s.load[k]);
        s.capacity[k] = SLACK * count / parts + 1;
    }
    order_nodes(n, seed, order);
    for (int i = 0; i < TRIES; i++) {
        cut_once(&s, order, GROUPS[i]);
        double share = partition_cut_share(n, s.part_of);
        if (!(share < least)) continue;
        memcpy(part_of, s.part_of, n->nodes * sizeof *part_of);
        least = share;
    }
    free(order);
    free(s.part_of);
    free(s.near);
    free(s.load[0]);
    free(s.load[1]);
}

double partition_cut_share(const struct network *n, const uint32_t *part_of)
{
    uint64_t cut = 0;
    for (uint32_t v = 0; v < n->nodes; v++)
        for (uint64_t i = n->start[v]; i < n->start[v + 1]; i++)
            cut += part_of[v] != part_of[n->neighbour[i]];
    return (double)cut / (double)n->start[n->nodes];
}
