/*
 * hottest.h - the most frequent keys of a stream, by Space-Saving (Metwally et al., 2005).
 *
 * There are HOTTEST_KEYS counters, each for one key. A key without a counter takes over the lowest
 * one and continues from its count. So every key that is more than one in HOTTEST_KEYS of the
 * stream has a counter, and no counter is too high by more than its `error`.
 *
 * Callers   one thread
 * Memory    the caller's, 6 KiB
 * Waiting   never
 * Life      hottest_clear, any use
 */
#ifndef LOCUS_OBSERVE_HOTTEST_H
#define LOCUS_OBSERVE_HOTTEST_H

#include "locus.h"

#include <stddef.h>
#include <stdint.h>

enum { HOTTEST_KEYS = 256 };

struct hottest_key {
    locus_key key;
    uint64_t count, error; /* it came at most `count` times, and at least `count - error` times */
};

struct hottest {
    uint64_t all; /* of the stream */
    unsigned used;
    struct hottest_key key[HOTTEST_KEYS];
};

void hottest_clear(struct hottest *);
void hottest_add(struct hottest *, locus_key);
/* Writes at most n keys that certainly came more than once, the most frequent first. Sorts the
 * counters. Returns how many. */
size_t hottest_list(struct hottest *, struct hottest_key *out, size_t n);

#endif
