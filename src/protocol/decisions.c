#include "protocol/decisions.h"

#include <stdbool.h>
#include <stdlib.h>

_Static_assert(sizeof(struct decision) == 40, "decisions.h promises it");

/* A ring: how many were ever noted tells where the next one goes. */
struct watched {
    uint64_t index, until_ns, count;
    struct decision last[DECISIONS_OF_KEY];
};

struct decisions {
    uint64_t count;
    unsigned watching;
    struct watched watched[DECISIONS_WATCHED_MAX];
    struct decision last[DECISIONS_KEPT];
};

struct decisions *decisions_new(void)
{
    return calloc(1, sizeof(struct decisions));
}

void decisions_free(struct decisions *d)
{
    free(d);
}

static void add(struct watched *w, const struct decision *one)
{
    w->last[w->count++ % DECISIONS_OF_KEY] = *one;
}

void decisions_note(struct decisions *d, const struct decision *one)
{
    d->last[d->count++ % DECISIONS_KEPT] = *one;
    for (unsigned i = 0; i < d->watching; i++)
        if (d->watched[i].index == one->index) add(&d->watched[i], one);
}

static void forget_old(struct decisions *d, uint64_t now_ns)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < d->watching; i++) {
        if (d->watched[i].until_ns <= now_ns) continue;
        if (kept != i) d->watched[kept] = d->watched[i];
        kept++;
    }
    d->watching = kept;
}

/* The place of the one that was asked about longest ago, when all are taken. */
static struct watched *place_for(struct decisions *d)
{
    struct watched *oldest = &d->watched[0];
    if (d->watching < DECISIONS_WATCHED_MAX) return &d->watched[d->watching++];
    for (unsigned i = 1; i < d->watching; i++)
        if (d->watched[i].until_ns < oldest->until_ns) oldest = &d->watched[i];
    return oldest;
}

static struct watched *watch(struct decisions *d, uint64_t index, uint64_t now_ns)
{
    forget_old(d, now_ns);
    for (unsigned i = 0; i < d->watching; i++)
        if (d->watched[i].index == index) return &d->watched[i];
    struct watched *w = place_for(d);
    w->index = index;
    w->count = 0;
    uint64_t i = d->count > DECISIONS_KEPT ? d->count - DECISIONS_KEPT : 0;
    for (; i < d->count; i++)
        if (d->last[i % DECISIONS_KEPT].index == index) add(w, &d->last[i % DECISIONS_KEPT]);
    return w;
}

size_t decisions_of(struct decisions *d, uint64_t index, uint64_t now_ns,
                    struct decision out[DECISIONS_OF_KEY])
{
    struct watched *w = watch(d, index, now_ns);
    size_t n = 0;
    w->until_ns = now_ns + DECISIONS_WATCH_NS;
    uint64_t i = w->count > DECISIONS_OF_KEY ? w->count - DECISIONS_OF_KEY : 0;
    for (; i < w->count; i++) out[n++] = w->last[i % DECISIONS_OF_KEY];
    return n;
}
