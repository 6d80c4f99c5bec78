/*
 * search.h - every course that a scenario can take, each state once.
 *
 * Memory    8 bytes a state (twice that at most), copies of the states on the way
 * Waiting   never
 * Life      search_all
 */
#ifndef LOCUS_EXHAUSTIVE_SEARCH_H
#define LOCUS_EXHAUSTIVE_SEARCH_H

#include "scenario.h"
#include "world.h"

enum { SEARCH_STEPS_MAX = 400 };

enum search_end { SEARCH_GOOD, SEARCH_VIOLATION, SEARCH_TOO_LARGE };

struct search_result {
    enum search_end end;
    uint64_t states, steps, ends; /* ends: states in which nothing more can happen */
    unsigned longest;             /* steps from the beginning */
};

/* A violation is printed with the way that led there. */
struct search_result search_all(const struct scenario *, uint64_t states_max);

/* The way to where the search is, kept where another process sees it when this one ends badly. */
struct search_way {
    struct scenario scenario;
    unsigned steps;
    struct world_choice step[SEARCH_STEPS_MAX];
};
void search_keep_way(struct search_way *);
/* Prints the way to its last step, and does not take that one. */
void search_print_way(const struct search_way *);

#endif
