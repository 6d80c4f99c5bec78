/*
 * reminder.h - when to tell people what somebody waits for: every REMINDER_S seconds.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      since_ns is set when the waiting begins; reminder_due() until it ends
 */
#ifndef LOCUS_BASE_REMINDER_H
#define LOCUS_BASE_REMINDER_H

#include <stdint.h>

enum { REMINDER_S = 10 };

#define REMINDER_NS (REMINDER_S * UINT64_C(1000000000))

struct reminder {
    uint64_t since_ns;
    unsigned count; /* of the last one; those that nobody asked for in time are left out */
};

static inline uint64_t reminder_next_ns(const struct reminder *r)
{
    return r->since_ns + (r->count + 1) * REMINDER_NS;
}

/* Is it time? Then the seconds that the waiting has taken; otherwise 0. */
static inline unsigned reminder_due(struct reminder *r, uint64_t now_ns)
{
    if (now_ns < reminder_next_ns(r)) return 0;
    r->count = (unsigned)((now_ns - r->since_ns) / REMINDER_NS);
    return r->count * REMINDER_S;
}

#endif
