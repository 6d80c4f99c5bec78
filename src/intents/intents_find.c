/* For look.h: the intents for one key. */
#include "intents/intents_private.h"

struct search {
    uint64_t index, left; /* keys to look through */
    struct intent_found *found;
    unsigned count, max;
    bool *more;
};

static void search_batch(struct search *s, const struct intents *all, const struct intent_batch *b,
                         unsigned worker, bool is_active)
{
    locus_clock end = b->end, until = end;
    uint32_t n = b->count < s->left ? b->count : (uint32_t)s->left, i = 0;
    s->left -= n;
    if (n < b->count) *s->more = true;
    while (i < n && b->index[i] != s->index) i++;
    if (i == n) return;
    if (is_active)
        until = intents_wanted_until(&all->worker[worker], s->index, intents_clock(all, worker));
    if (until > end) end = until;
    if (s->count < s->max)
        s->found[s->count++] = (struct intent_found){worker, is_active, b->start, end};
    else
        *s->more = true;
}

unsigned intents_find(const struct intents *all, uint64_t index, struct intent_found *found,
                      unsigned max, bool *more)
{
    struct search s = {
        .index = index, .left = INTENTS_LOOK_MAX, .found = found, .max = max, .more = more};
    *more = false;
    for (unsigned w = 0; w < all->workers; w++) {
        const struct clock_heap *active = &all->worker[w].active,
                                *waiting = &all->worker[w].waiting;
        for (size_t i = 0; i < active->count; i++)
            search_batch(&s, all, active->due[i].what, w, true);
        for (size_t i = 0; i < waiting->count; i++)
            search_batch(&s, all, waiting->due[i].what, w, false);
    }
    return s.count;
}
