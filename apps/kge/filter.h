/*
 * filter.h - which answers are known: for a query (subject, relation, ?) all objects of facts of
 * any split, for (?, relation, object) all subjects. A filtered ranking leaves known answers out
 * (Bordes et al., 2013).
 *
 * Callers   main() builds it; any thread reads
 * Memory    16 bytes a fact
 * Waiting   never
 */
#ifndef KGE_FILTER_H
#define KGE_FILTER_H

#include "graph.h"

enum filter_side { FILTER_OBJECTS, FILTER_SUBJECTS, FILTER_SIDES };

struct filter {
    /* Facts as (given entity, relation, answer), sorted. */
    struct fact *sorted[FILTER_SIDES];
    size_t count[FILTER_SIDES];
};

void filter_init(struct filter *, const struct graph *);
/* Instead: which entities are in that place of a relation in the facts to train with; the relation
 * is what is given then, and 0 the relation. */
void filter_init_places(struct filter *, const struct graph *);
void filter_fini(struct filter *);
/* The answers' facts: answers are their `object` members. Sets how many there are; an answer of
 * several splits comes once. */
const struct fact *filter_answers(const struct filter *, enum filter_side, uint32_t given,
                                  uint32_t relation, size_t *count);

#endif
