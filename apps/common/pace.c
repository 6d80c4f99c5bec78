#include "pace.h"

#include "fail.h"

static bool is_on(const struct pool_member *m)
{
    return m->worker && m->pool->bound.is_on;
}

void pace_begin(struct pace *p, const struct pool_member *m, uint64_t total, uint64_t clocks)
{
    *p = (struct pace){.member = m, .total = total, .clocks = clocks ? clocks : PACE_CLOCKS};
}

/* What was begun before the clock comes to its next value is to be seen by those who wait for
 * that: asynchronous updates, too, so nothing is waited for here. */
void pace_done(struct pace *p, uint64_t done)
{
    if (!is_on(p->member)) return;
    const struct pool_bound *b = &p->member->pool->bound;
    double share = p->total && done < p->total ? (double)done / (double)p->total : 1;
    while (p->passed < (uint64_t)(share * (double)p->clocks)) {
        p->passed++;
        locus_advance_clock(p->member->worker);
        must(locus_bound(p->member->worker, b->staleness), "waiting for fresh copies");
    }
}

/* Who has nothing left to do waits for nobody: the meeting comes next. */
void pace_end(struct pace *p)
{
    if (!is_on(p->member)) return;
    for (; p->passed < p->clocks; p->passed++) locus_advance_clock(p->member->worker);
}

void pace_step(const struct pool_member *m)
{
    if (m->worker && !is_on(m)) locus_advance_clock(m->worker);
}

/* ---- on a miss ---- */

enum { MISSED_TOGETHER = 256 };

static size_t take_missing(const struct pool_member *m, const locus_key *keys, size_t n,
                           locus_key *missing)
{
    size_t count = 0;
    locus_read_begin(m->worker);
    for (size_t i = 0; i < n; i++)
        if (!locus_view(m->worker, keys[i])) missing[count++] = keys[i];
    locus_read_end(m->worker);
    return count;
}

void pace_missed(const struct pool_member *m, const locus_key *keys, size_t n)
{
    if (!is_on(m)) return;
    const struct pool_bound *b = &m->pool->bound;
    locus_clock now = locus_current_clock(m->worker),
                end = b->keeps ? LOCUS_FOREVER : now + b->staleness + 1;
    locus_key missing[MISSED_TOGETHER];
    for (size_t i = 0; i < n; i += MISSED_TOGETHER) {
        size_t some = n - i < MISSED_TOGETHER ? n - i : MISSED_TOGETHER;
        size_t count = take_missing(m, keys + i, some, missing);
        must(locus_intent(m->worker, missing, count, now, end), "intent");
    }
}
