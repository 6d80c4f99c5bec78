#include "planted.h"

#include "fail.h"
#include "rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES_MAX = 100 * 1000 * 1000, DEGREE_MAX = 1000 };

void planted_parse(struct planted *p, const char *text)
{
    uint64_t nodes, degree, classes;
    char rest;
    if (sscanf(text, "%" SCNu64 "x%" SCNu64 "x%" SCNu64 "%c", &nodes, &degree, &classes, &rest) !=
        3)
        fail_usage("--planted takes NODESxDEGREExCLASSES, as 10000x16x8, not \"%s\"", text);
    if (classes < 2 || classes > LABELS_CLASSES_MAX)
        fail_usage("--planted %s: there must be 2 to %d classes", text, LABELS_CLASSES_MAX);
    if (nodes < 10 * classes || nodes > NODES_MAX)
        fail_usage("--planted %s: there must be %" PRIu64 " to %d nodes", text, 10 * classes,
                   NODES_MAX);
    if (degree < 1 || degree > DEGREE_MAX || degree > nodes / 2)
        fail_usage("--planted %s: the mean degree must be from 1 to %d, and half of the nodes at "
                   "most",
                   text, DEGREE_MAX);
    p->nodes = (uint32_t)nodes;
    p->degree = degree;
    p->classes = (uint32_t)classes;
}

/* A rank below `count`, as frequent as (rank + 1)^-slope, about: the inverse of the integral. */
static uint32_t draw_rank(struct rng *rng, uint32_t count, double slope)
{
    double power = 1 - slope, most = pow(count + 1.0, power);
    double x = pow(1 + rng_real(rng) * (most - 1), 1 / power) - 1;
    return x < count ? (uint32_t)x : count - 1;
}

/* The classes take turns by rank: each has frequent nodes and rare ones. */
static uint32_t rank_of_class(const struct planted *p, struct rng *rng, uint32_t class,
                              double slope)
{
    uint32_t count = (p->nodes - class + p->classes - 1) / p->classes;
    return draw_rank(rng, count, slope) * p->classes + class;
}

void planted_generate(const struct planted *p, struct network *n, struct labels *l)
{
    struct rng rng;
    double slope = 1 / (p->exponent - 1);
    uint32_t *node = take_memory(p->nodes, sizeof *node); /* of each rank */
    rng_init(&rng, p->seed, UINT64_C(1) << 61);
    for (uint32_t i = 0; i < p->nodes; i++) node[i] = i;
    rng_shuffle(&rng, node, p->nodes);
    labels_reserve(l, p->nodes);
    for (uint32_t i = 0; i < p->nodes; i++) l->class_of[node[i]] = i % p->classes;
    l->classes = p->classes;
    n->nodes = p->nodes;
    for (uint64_t i = 0; i < p->nodes * p->degree / 2; i++) {
        uint32_t from = draw_rank(&rng, p->nodes, slope);
        bool is_same = rng_real(&rng) < p->same;
        uint32_t to = is_same ? rank_of_class(p, &rng, from % p->classes, slope)
                              : draw_rank(&rng, p->nodes, slope);
        network_add(n, node[from], node[to]);
    }
    free(node);
}
