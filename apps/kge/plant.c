#include "plant.h"

#include "fail.h"
#include "made_up.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A fact is a number below 2^64. */
enum { ENTITIES_MAX = 10 * 1000 * 1000, RELATIONS_MAX = 100 * 1000, FACTS_MIN = 100 };
/* Groups of a type, entities of a group at least, and types at most. */
enum { GROUPS = 4, GROUP_MIN = 10, TYPES_MAX = 25, ENTITIES_MIN = 2 * GROUPS * GROUP_MIN };

struct sizes {
    uint32_t entities, relations, types;
    uint64_t facts; /* different ones, in all splits */
};

static struct sizes parse(const char *text)
{
    static const char option[] = "--planted";
    struct made_up_size s[] = {{.name = "entities", .least = ENTITIES_MIN, .most = ENTITIES_MAX},
                               {.name = "relations", .least = 1, .most = RELATIONS_MAX},
                               {.name = "facts", .least = FACTS_MIN, .most = UINT64_MAX}};
    made_up_sizes(option, text, "ENTITIESxRELATIONSxFACTS, as 10000x50x100000", s, 3);
    s[2].most = s[0].is * s[1].is * s[0].is / 10; /* a tenth of all that there could be */
    made_up_check(option, text, &s[2]);
    uint64_t types = s[0].is / (GROUPS * GROUP_MIN);
    return (struct sizes){.entities = (uint32_t)s[0].is,
                          .relations = (uint32_t)s[1].is,
                          .types = (uint32_t)(types < TYPES_MAX ? types : TYPES_MAX),
                          .facts = s[2].is};
}

/* ---- a fact ---- */

struct maker {
    struct sizes is;
    struct rng rng;
    uint32_t *number; /* of the entity of each rank: frequent ones lie anywhere */
    struct kind {
        uint32_t from, to, step; /* types, and groups further on */
    } * kind;                    /* of each relation */
    struct made_up_seen seen;    /* facts */
};

/* Groups take turns by rank: each has frequent entities and rare ones. */
static uint32_t rank_in_group(struct maker *m, uint32_t type, uint32_t group)
{
    const struct sizes *p = &m->is;
    uint32_t groups = p->types * GROUPS, first = type * GROUPS + group % GROUPS;
    return made_up_rank(&m->rng, (p->entities - first + groups - 1) / groups, 1) * groups + first;
}

enum { ANY_OBJECT_IN = 10 };

static struct fact draw(struct maker *m, bool is_uniform)
{
    const struct sizes *p = &m->is;
    if (is_uniform)
        return (struct fact){.subject = (uint32_t)rng_below(&m->rng, p->entities),
                             .relation = (uint32_t)rng_below(&m->rng, p->relations),
                             .object = (uint32_t)rng_below(&m->rng, p->entities)};
    uint32_t relation = made_up_rank(&m->rng, p->relations, 1);
    const struct kind *k = &m->kind[relation];
    uint32_t group = (uint32_t)rng_below(&m->rng, GROUPS);
    uint32_t subject = rank_in_group(m, k->from, group);
    uint32_t object = rng_below(&m->rng, ANY_OBJECT_IN) == 0
                          ? made_up_rank(&m->rng, p->entities, 1)
                          : rank_in_group(m, k->to, group + k->step);
    return (struct fact){m->number[subject], relation, m->number[object]};
}

static struct fact draw_new(struct maker *m)
{
    for (int draws = 0;; draws++) {
        struct fact f = draw(m, draws >= MADE_UP_DRAWS);
        uint64_t of_subject = (uint64_t)f.subject * m->is.relations + f.relation;
        if (made_up_is_new(&m->seen, of_subject * m->is.entities + f.object)) return f;
    }
}

/* ---- the graph ---- */

static void name_all(const struct maker *m, struct graph *g)
{
    const struct sizes *p = &m->is;
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

static void maker_init(struct maker *m, const char *text, uint64_t seed)
{
    *m = (struct maker){.is = parse(text)};
    const struct sizes *p = &m->is;
    rng_init(&m->rng, seed, UINT64_C(1) << 61);
    m->number = take_memory(p->entities, sizeof *m->number);
    for (uint32_t i = 0; i < p->entities; i++) m->number[i] = i;
    rng_shuffle(&m->rng, m->number, p->entities);
    m->kind = take_memory(p->relations, sizeof *m->kind);
    for (uint32_t i = 0; i < p->relations; i++)
        m->kind[i] = (struct kind){.from = (uint32_t)rng_below(&m->rng, p->types),
                                   .to = (uint32_t)rng_below(&m->rng, p->types),
                                   .step = (uint32_t)rng_below(&m->rng, GROUPS)};
    made_up_seen_init(&m->seen, p->facts);
}

void plant_generate(struct graph *g, const char *text, uint64_t seed)
{
    struct maker m;
    maker_init(&m, text, seed);
    uint64_t facts = m.is.facts, held_back = facts / PLANT_PART;
    if (held_back > PLANT_HELD_BACK_MAX) held_back = PLANT_HELD_BACK_MAX;
    *g = (struct graph){0};
    names_init(&g->entities);
    names_init(&g->relations);
    name_all(&m, g);
    for (uint64_t i = 0; i < facts; i++) {
        enum graph_split split = i < held_back       ? GRAPH_VALID
                                 : i < 2 * held_back ? GRAPH_TEST
                                                     : GRAPH_TRAIN;
        facts_add(&g->splits[split], draw_new(&m));
    }
    free(m.number);
    free(m.kind);
    made_up_seen_fini(&m.seen);
}
