/*
 * history.h - was every read and write of one key atomic, in an order that fits what the callers
 * saw?
 *
 * Operations are recorded with the moments of their call and return. The history is good
 * (linearizable) if they can be put in one order in which each takes effect between its call and
 * its return, and every read gives the value that the operations before it leave behind, 0 at
 * first. A lost update, an update applied twice, a read of an old value and a value that nobody
 * wrote all leave no such order.
 *
 * Callers   simulation programs
 * Memory    none beside the struct
 * Waiting   never
 * Life      zeroed; history_add ..., history_is_good
 */
#ifndef LOCUS_TEST_HISTORY_H
#define LOCUS_TEST_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_MAX = 64 };
enum history_kind { HISTORY_READ, HISTORY_ADD, HISTORY_SET };

struct history_operation {
    enum history_kind kind;
    int64_t value; /* read, added, or set */
    uint64_t called, returned;
};

struct history {
    unsigned count;
    struct history_operation operation[HISTORY_MAX];
};

enum history_verdict { HISTORY_GOOD, HISTORY_BAD, HISTORY_TOO_WIDE };

/* false: there are HISTORY_MAX already. */
bool history_add(struct history *, enum history_kind, int64_t value, uint64_t called,
                 uint64_t returned);
/* HISTORY_TOO_WIDE: too many operations overlap for the search. */
enum history_verdict history_check(const struct history *);
void history_print(const struct history *);

#endif
