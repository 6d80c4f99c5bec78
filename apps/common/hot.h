/*
 * hot.h - chooses the hot keys, which NuPS replicates on every node, while it relocates all others
 * (NuPS, Section 3.2; --technique nups).
 *
 * Chosen once, from how often each key occurs in the training data: all that occur more than F
 * times as often as the mean (F = 100 in NuPS' experiments, Section 5.1), or the N most frequent.
 *
 * Callers   a program's workers, before training; settings.c parses the rule
 * Memory    8 bytes a key while it chooses
 * Waiting   never
 */
#ifndef APPS_HOT_H
#define APPS_HOT_H

#include "pool.h"

#define HOT_FACTOR 100.0 /* "auto" */

/* One of the two is 0. */
struct hot_rule {
    uint64_t keys;
    double factor;
};

/* "auto", a number of keys, or a factor like "50x". False: none of these. */
bool hot_parse(struct hot_rule *, const char *text);

/* Writes the hot keys among 0 ... keys-1, in ascending order, into `hot`, which must be large
 * enough for all; returns how many. Of equally frequent keys the first count as more frequent. A
 * key that never occurs is not hot. */
size_t hot_choose(const struct hot_rule *, const uint64_t *count, size_t keys, uint64_t *hot);

/* The member's node keeps the hot ones, whose keys are their numbers. Returns how many. */
size_t hot_keep(const struct hot_rule *, const struct pool_member *, const uint64_t *count,
                size_t keys);

#endif
