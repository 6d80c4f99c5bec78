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

/* Which keys are preferred: all alike, or few that everybody hits. */
enum sums_keys { SUMS_ALL_KEYS, SUMS_FEW_KEYS };

/* A seat's part: pushes for so long. */
void sums_run(struct seat *, enum sums_keys, double seconds);

#endif
