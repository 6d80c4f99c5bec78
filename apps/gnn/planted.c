#include "planted.h"

#include "fail.h"
#include "made_up.h"

#include <stdlib.h>

enum { NODES_MAX = 100 * 1000 * 1000, DEGREE_MAX = 1000 };

struct sizes {
    uint32_t nodes, classes;
    uint64_t degree; /* the mean, before edges that are double are taken out */
};

static struct sizes parse(const char *text)
{
    static const char option[] = "--planted";
    struct made_up_size s[] = {{.name = "nodes", .least = 1, .most = NODES_MAX},
                               {.name = "the mean degree", .least = 1, .most = DEGREE_MAX},
                               {.name = "classes", .least = 2, .most = LABELS_CLASSES_MAX}};
    made_up_sizes(option, text, "NODESxDEGREExCLASSES, as 10000x16x8", s, 3);
    s[0].least = 10 * s[2].is;
    made_up_check(option, text, &s[0]);
    if (s[1].most > s[0].is / 2) s[1].most = s[0].is / 2;
    made_up_check(option, text, &s[1]);
    return (struct sizes){
        .nodes = (uint32_t)s[0].is, .classes = (uint32_t)s[2].is, .degree = s[1].is};
}

/* The classes take turns by rank: each has frequent nodes and rare ones. */
static uint32_t rank_of_class(const struct sizes *p, struct rng *rng, uint32_t class, double slope)
{
    uint32_t count = (p->nodes - class + p->classes - 1) / p->classes;
    return made_up_rank(rng, count, slope) * p->classes + class;
}

void planted_generate(const struct planted *p, struct network *n, struct labels *l)
{
    const struct sizes is = parse(p->text);
    struct rng rng;
    double slope = 1 / (p->exponent - 1);
    uint32_t *node = take_memory(is.nodes, sizeof *node); /* of each rank */
    rng_init(&rng, p->seed, UINT64_C(1) << 61);
    for (uint32_t i = 0; i < is.nodes; i++) node[i] = i;
    rng_shuffle(&rng, node, is.nodes);
    labels_reserve(l, is.nodes);
    for (uint32_t i = 0; i < is.nodes; i++) l->class_of[node[i]] = i % is.classes;
    l->classes = is.classes;
    n->nodes = is.nodes;
    for (uint64_t i = 0; i < is.nodes * is.degree / 2; i++) {
        uint32_t from = made_up_rank(&rng, is.nodes, slope);
        bool is_same = rng_real(&rng) < p->same;
        uint32_t to = is_same ? rank_of_class(&is, &rng, from % is.classes, slope)
                              : made_up_rank(&rng, is.nodes, slope);
        network_add(n, node[from], node[to]);
    }
    free(node);
}
