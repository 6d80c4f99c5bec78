/*
 * graph.h - a knowledge graph: facts of the kind (subject, relation, object), in three splits.
 *
 * It is read from a folder with train.txt, valid.txt and test.txt, a line a fact: "head TAB relation
 * TAB tail", names. Entities and relations are numbered in the order in which the splits name them,
 * so every node that reads the same data numbers alike.
 *
 * Callers   main(), once; afterwards any thread reads
 * Memory    the graph's; of a filter 16 bytes a fact
 * Waiting   for the disk. Missing, empty and malformed files end the program with file and line
 */
#ifndef KGE_GRAPH_H
#define KGE_GRAPH_H

#include "names.h"

#include <stdbool.h>

enum graph_split { GRAPH_TRAIN, GRAPH_VALID, GRAPH_TEST, GRAPH_SPLITS };

struct fact {
    uint32_t subject, relation, object;
};

struct facts {
    struct fact *list;
    size_t count, capacity;
    size_t unknown; /* of a file: with an entity that is in no fact to train with */
};

struct graph {
    struct names entities, relations;
    struct facts splits[GRAPH_SPLITS];
};

void graph_load(struct graph *, const char *folder);
void graph_fini(struct graph *);

void facts_add(struct facts *, struct fact);
const char *graph_split_name(enum graph_split);

/* Where a split is. `path` has room for PATH_MAX. */
void graph_file(const char *folder, enum graph_split, char *path);
/* Of the names and so many splits. */
uint64_t graph_digest(const struct graph *, enum graph_split first, enum graph_split end);

/* Which answers are known: for a query (subject, relation, ?) all objects of facts of any split,
 * for (?, relation, object) all subjects. A filtered ranking leaves known answers out (Bordes et
 * al., 2013). */
enum filter_side { FILTER_OBJECTS, FILTER_SUBJECTS, FILTER_SIDES };

struct filter {
    /* Facts as (given entity, relation, answer), sorted. */
    struct fact *sorted[FILTER_SIDES];
    size_t count[FILTER_SIDES];
};

void filter_init(struct filter *, const struct graph *);
void filter_fini(struct filter *);
/* The answers' facts: answers are their `object` members. Sets how many there are; an answer of
 * several splits comes once. */
const struct fact *filter_answers(const struct filter *, enum filter_side, uint32_t given,
                                  uint32_t relation, size_t *count);

#endif
