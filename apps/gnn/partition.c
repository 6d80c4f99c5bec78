#include "partition.h"

#include "fail.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

/* A part may be so much fuller than the mean. Passes after the first one know where neighbours that
 * come later were; more than these gain little. */
static const double SLACK = 1.05;
enum { PASSES = 5 };

struct stream {
    const struct network *n;
    const struct labels *l;
    uint32_t parts, *part_of;
    double *load[2], room[2]; /* of nodes to train with, and of others */
    uint32_t *near;           /* how many neighbours of a node each part has */
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
        double score = (s->near[p] + 1e-3) * (1 - load[p] / s->room[kind]);
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

static void cut_greedily(const struct network *n, const struct labels *l, uint32_t parts,
                         uint64_t seed, uint32_t *part_of)
{
    struct stream s = {.n = n, .l = l, .parts = parts, .part_of = part_of};
    uint32_t *order = take_memory(n->nodes, sizeof *order);
    s.near = take_memory(parts, sizeof *s.near);
    for (int k = 0; k < 2; k++) {
        double count = k == 0 ? l->count[LABELS_TRAIN] : n->nodes - l->count[LABELS_TRAIN];
        s.load[k] = take_memory(parts, sizeof *s.load[k]);
        s.room[k] = SLACK * count / parts + 1;
    }
    order_nodes(n, seed, order);
    for (uint32_t v = 0; v < n->nodes; v++) part_of[v] = parts;
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < n->nodes; i++) place(&s, order[i]);
    free(order);
    free(s.near);
    free(s.load[0]);
    free(s.load[1]);
}

/* Nodes to train with take turns, and so do the others. */
static void deal(const struct network *n, const struct labels *l, uint32_t parts, uint64_t seed,
                 uint32_t *part_of)
{
    struct rng rng;
    uint32_t *order = take_memory(n->nodes, sizeof *order), turn[2] = {0};
    rng_init(&rng, seed, UINT64_C(3) << 60);
    for (uint32_t v = 0; v < n->nodes; v++) order[v] = v;
    rng_shuffle(&rng, order, n->nodes);
    for (uint32_t i = 0; i < n->nodes; i++)
        part_of[order[i]] = turn[l->purpose_of[order[i]] == LABELS_TRAIN]++ % parts;
    free(order);
}

void partition_cut(enum partition_kind kind, const struct network *n, const struct labels *l,
                   uint32_t parts, uint64_t seed, uint32_t *part_of)
{
    if (parts == 1) {
        memset(part_of, 0, n->nodes * sizeof *part_of);
    } else if (kind == PARTITION_GREEDY) {
        cut_greedily(n, l, parts, seed, part_of);
    } else {
        deal(n, l, parts, seed, part_of);
    }
}

double partition_cut_share(const struct network *n, const uint32_t *part_of)
{
    uint64_t cut = 0;
    for (uint32_t v = 0; v < n->nodes; v++)
        for (uint64_t i = n->start[v]; i < n->start[v + 1]; i++)
            cut += part_of[v] != part_of[n->neighbour[i]];
    return (double)cut / (double)n->start[n->nodes];
}
