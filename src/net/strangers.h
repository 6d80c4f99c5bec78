/*
 * strangers.h - how many connections wait for a peer that has not yet proved to belong here.
 *
 * Beside one for each peer that is expected, STRANGERS_MAX, each for at most STRANGERS_S. When one
 * more comes, the one goes that has said nothing for longest; if all have answered, the oldest. Who
 * belongs here answers at once, and comes in at one of its attempts, however many strangers there
 * are.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      one count of all that wait, from the newest to the oldest: zeroed, strangers_count,
 *           strangers_leaves
 */
#ifndef LOCUS_NET_STRANGERS_H
#define LOCUS_NET_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRANGERS_MAX = 64, STRANGERS_S = 5 };
#define STRANGERS_NS (STRANGERS_S * UINT64_C(1000000000))

struct strangers {
    unsigned count;
    void *first_to_go;
    bool has_answered; /* that one */
};

static inline void strangers_count(struct strangers *s, void *who, bool has_answered)
{
    s->count++;
    if (s->first_to_go && has_answered && !s->has_answered) return;
    s->first_to_go = who;
    s->has_answered = has_answered;
}

/* Who makes room for one more; NULL: nobody need. */
static inline void *strangers_leaves(const struct strangers *s, unsigned expected)
{
    return s->count >= STRANGERS_MAX + expected ? s->first_to_go : NULL;
}

#endif
