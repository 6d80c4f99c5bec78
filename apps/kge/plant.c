#include "plant.h"

#include "fail.h"
#include "rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A fact is a number below 2^64. */
enum { ENTITIES_MAX = 10 * 1000 * 1000, RELATIONS_MAX = 100 * 1000, FACTS_MIN = 100 };
/* Groups of a type, entities of a group at least, and types at most. */
enum { GROUPS = 4, GROUP_MIN = 10, TYPES_MAX = 25, ENTITIES_MIN = 2 * GROUPS * GROUP_MIN };

void plant_parse(struct plant *p, const char *text)
{
    uint64_t entities, relations, facts;
    char rest;
    if (sscanf(text, "%" SCNu64 "x%" SCNu64 "x%" SCNu64 "%c", &entities, &relations, &facts,
               &rest) != 3)
        fail_usage("--planted takes ENTITIESxRELATIONSxFACTS, as 10000x50x100000, not \"%s\"",
                   text);
    if (entities < ENTITIES_MIN || entities > ENTITIES_MAX)
        fail_usage("--planted %s: there must be %d to %d entities", text, ENTITIES_MIN,
                   ENTITIES_MAX);
    if (relations < 1 || relations > RELATIONS_MAX)
        fail_usage("--planted %s: there must be 1 to %d relations", text, RELATIONS_MAX);
    if (facts < FACTS_MIN || facts > entities * relations * entities / 10)
        fail_usage("--planted %s: there must be %d facts to a tenth of all that there could be",
                   text, FACTS_MIN);
    uint64_t types = entities / (GROUPS * GROUP_MIN);
    p->entities = (uint32_t)entities;
    p->relations = (uint32_t)relations;
    p->types = (uint32_t)(types < TYPES_MAX ? types : TYPES_MAX);
    p->facts = facts;
}

/* ---- a fact ---- */

struct maker {
    const struct plant *plant;
    struct rng rng;
    uint32_t *number; /* of the entity of each rank: frequent ones lie anywhere */
    struct kind {
        uint32_t from, to, step; /* types, and groups further on */
    } * kind;                    /* of each relation */
    uint64_t *seen;              /* facts, +1; 0: free */
    uint64_t slots;
};

/* A rank below `count`, as frequent as 1 / (rank + 1), about: the inverse of the integral. */
static uint32_t draw_rank(struct rng *rng, uint32_t count)
{
    double x = pow(count + 1.0, rng_real(rng)) - 1;
    return x < count ? (uint32_t)x : count - 1;
}

/* Groups take turns by rank: each has frequent entities and rare ones. */
static uint32_t rank_in_group(struct maker *m, uint32_t type, uint32_t group)
{
    const struct plant *p = m->plant;
    uint32_t groups = p->types * GROUPS, first = type * GROUPS + group % GROUPS;
    return draw_rank(&m->rng, (p->entities - first + groups - 1) / groups) * groups + first;
}

enum { ANY_OBJECT_IN = 10 };

static struct fact draw(struct maker *m, bool is_uniform)
{
    const struct plant *p = m->plant;
    if (is_uniform)
        return (struct fact){.subject = (uint32_t)rng_below(&m->rng, p->entities),
                             .relation = (uint32_t)rng_below(&m->rng, p->relations),
                             .object = (uint32_t)rng_below(&m->rng, p->entities)};
    uint32_t relation = draw_rank(&m->rng, p->relations);
    const struct kind *k = &m->kind[relation];
    uint32_t group = (uint32_t)rng_below(&m->rng, GROUPS);
    uint32_t subject = rank_in_group(m, k->from, group);
    uint32_t object = rng_below(&m->rng, ANY_OBJECT_IN) == 0
                          ? draw_rank(&m->rng, p->entities)
                          : rank_in_group(m, k->to, group + k->step);
    return (struct fact){m->number[subject], relation, m->number[object]};
}

/* False: it was there. */
static bool see(struct maker *m, const struct fact *f)
{
    const struct plant *p = m->plant;
    uint64_t fact = ((uint64_t)f->subject * p->relations + f->relation) * p->entities + f->object;
    uint64_t slot = rng_mix(fact) & (m->slots - 1);
    for (; m->seen[slot]; slot = (slot + 1) & (m->slots - 1)) {
        if (m->seen[slot] == fact + 1) return false;
    }
    m->seen[slot] = fact + 1;
    return true;
}

/* What is frequent is soon all there: after so many draws in vain it is any fact, so that making
 * ends. */
enum { DRAWS_MAX = 64 };

static struct fact draw_new(struct maker *m)
{
    for (int draws = 0;; draws++) {
        struct fact f = draw(m, draws >= DRAWS_MAX);
        if (see(m, &f)) return f;
    }
}

/* ---- the graph ---- */

static void name_all(const struct maker *m, struct graph *g)
{
    const struct plant *p = m->plant;
    uint32_t *rank = take_memory(p->entities, sizeof *rank);
    char name[32];
    for (uint32_t r = 0; r < p->entities; r++) rank[m->number[r]] = r;
    for (uint32_t i = 0; i < p->entities; i++) {
        uint32_t groups = p->types * GROUPS, group = rank[i] % groups;
        int length = snprintf(name, sizeof name, "t%" PRIu32 ".g%" PRIu32 ".e%" PRIu32,
                              group / GROUPS, group % GROUPS, rank[i] / groups);
        names_add(&g->entities, name, (size_t)length);
    }
    for (uint32_t i = 0; i < p->relations; i++)
        names_add(&g->relations, name, (size_t)snprintf(name, sizeof name, "r%" PRIu32, i));
    free(rank);
}

static void maker_init(struct maker *m, const struct plant *p)
{
    *m = (struct maker){.plant = p, .slots = 8};
    rng_init(&m->rng, p->seed, UINT64_C(1) << 61);
    m->number = take_memory(p->entities, sizeof *m->number);
    for (uint32_t i = 0; i < p->entities; i++) m->number[i] = i;
    rng_shuffle(&m->rng, m->number, p->entities);
    m->kind = take_memory(p->relations, sizeof *m->kind);
    for (uint32_t i = 0; i < p->relations; i++)
        m->kind[i] = (struct kind){.from = (uint32_t)rng_below(&m->rng, p->types),
                                   .to = (uint32_t)rng_below(&m->rng, p->types),
                                   .step = (uint32_t)rng_below(&m->rng, GROUPS)};
    while (m->slots < 2 * p->facts) m->slots *= 2;
    m->seen = take_memory(m->slots, sizeof *m->seen);
}

void plant_generate(const struct plant *p, struct graph *g)
{
    struct maker m;
    uint64_t held_back = p->facts / PLANT_PART;
    if (held_back > PLANT_HELD_BACK_MAX) held_back = PLANT_HELD_BACK_MAX;
    maker_init(&m, p);
    *g = (struct graph){0};
    names_init(&g->entities);
    names_init(&g->relations);
    name_all(&m, g);
    for (uint64_t i = 0; i < p->facts; i++) {
        enum graph_split split = i < held_back       ? GRAPH_VALID
                                 : i < 2 * held_back ? GRAPH_TEST
                                                     : GRAPH_TRAIN;
        facts_add(&g->splits[split], draw_new(&m));
    }
    free(m.number);
    free(m.kind);
    free(m.seen);
}
