/*
 * sums.h - a workload whose outcome is known exactly: every seat pushes small integers at random
 * keys for a while, synchronously and not; then all quiesce, and every seat compares every row with
 * what all have pushed to it. They tell each other through a table of the cluster itself, so it
 * works among processes too. Meanwhile every pull must hold at least what the puller pushed, and no
 * half of an update.
 */
#ifndef LOCUS_TEST_SUMS_H
#define LOCUS_TEST_SUMS_H

#include "team.h"

enum { SUMS_TABLES = 4 };
extern const struct locus_table sums_tables[SUMS_TABLES];
/* With an optimizer, whose steps add and have exact state (exact_steps.h): a seat pushes gradients,
 * and compares the state, too. */
void sums_tables_with(enum locus_optimizer, enum locus_element, struct locus_table[SUMS_TABLES]);

/* Which keys are preferred: all alike, or few that everybody hits. */
enum sums_keys { SUMS_ALL_KEYS, SUMS_FEW_KEYS };

/* What a seat does besides: nothing, but intend at random; as with Petuum's SSP or ESSP intend what
 * it misses, for a while or for ever; as with NuPS keep few keys, and take that back now and
 * then. */
enum sums_manner { SUMS_AT_RANDOM, SUMS_SSP, SUMS_ESSP, SUMS_KEEPS };

/* A seat's part: pushes for so long. */
void sums_run(struct seat *, enum sums_keys, double seconds);
/* The same for as many clocks, each with a bound of that staleness. */
struct sums_clocks {
    enum sums_manner manner;
    unsigned clocks, staleness;
};
void sums_run_clocks(struct seat *, enum sums_keys, struct sums_clocks);

#endif
