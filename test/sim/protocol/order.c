#include "order.h"

/* A search (Wing and Gong): what was called before the first of the others returned may be next, if
 * nothing of the same worker must come before it. What makes it short: a read tells its last set
 * and the updates since, so a state from which some read can never come true is left at once; and
 * what no read ever saw, an update or a set, can only lie right before a set, where it changes
 * nothing, and is put there as soon as it may. States that led nowhere are remembered. */

enum { DEAD_ENDS = 1 << 16, DEAD_ENDS_MAX = DEAD_ENDS / 2 };

struct state {
    uint64_t done;    /* events */
    uint64_t updates; /* since the last set */
    unsigned set;
};

struct dead_end {
    struct state state;
    uint64_t check; /* the search that it belongs to: nothing needs clearing */
};

static struct {
    const struct journal_key *key;
    uint64_t all, seen; /* events; those that some read saw, and the reads themselves */
    uint64_t check;
    unsigned dead_ends;
    bool is_too_wide;
    struct dead_end dead_end[DEAD_ENDS];
} search;

static bool is_done(const struct state *s, unsigned i)
{
    return s->done >> i & 1;
}

static const struct journal_event *event(unsigned i)
{
    return &search.key->event[i];
}

static bool sees(const struct journal_event *read, const struct journal_event *e)
{
    if (read->kind != JOURNAL_READ) return false;
    return e->kind == JOURNAL_ADD ? content_has(&read->seen, e->number)
                                  : read->seen.set == e->number;
}

static void note_seen(void)
{
    search.seen = 0;
    for (unsigned i = 0; i < search.key->count; i++) {
        bool seen = event(i)->kind == JOURNAL_READ;
        for (unsigned r = 0; r < search.key->count && !seen; r++) seen = sees(event(r), event(i));
        search.seen |= (uint64_t)seen << i;
    }
}

/* Nothing that is not done returned before its call, or was called earlier by the same worker. */
static bool may_be_next(const struct state *s, unsigned i)
{
    const struct journal_event *e = event(i);
    for (unsigned j = 0; j < search.key->count; j++) {
        const struct journal_event *other = event(j);
        if (j == i || is_done(s, j)) continue;
        if (other->done < e->called) return false;
        if (other->worker == e->worker && other->call && e->call && other->call < e->call)
            return false;
    }
    return true;
}

/* Reads that fit are always next: doing them now hinders nobody. */
static void do_reads(struct state *s)
{
    for (bool found = true; found;) {
        found = false;
        for (unsigned i = 0; i < search.key->count; i++) {
            const struct journal_event *e = event(i);
            if (is_done(s, i) || e->kind != JOURNAL_READ || e->seen.set != s->set ||
                e->seen.updates[0] != s->updates)
                continue;
            if (!may_be_next(s, i)) continue;
            s->done |= UINT64_C(1) << i;
            found = true;
        }
    }
}

/* Right before a set: what nobody saw. */
static void do_unseen(struct state *s)
{
    for (bool found = true; found;) {
        found = false;
        for (unsigned i = 0; i < search.key->count; i++) {
            if (is_done(s, i) || search.seen >> i & 1 || !may_be_next(s, i)) continue;
            s->done |= UINT64_C(1) << i;
            found = true;
        }
    }
}

/* A read of this set that lacks what was added already, or of a set that is gone. */
static bool is_hopeless(const struct state *s)
{
    uint64_t sets_done = 0;
    for (unsigned i = 0; i < search.key->count; i++)
        if (event(i)->kind == JOURNAL_SET && is_done(s, i))
            sets_done |= UINT64_C(1) << event(i)->number;
    for (unsigned i = 0; i < search.key->count; i++) {
        const struct journal_event *e = event(i);
        if (is_done(s, i) || e->kind != JOURNAL_READ) continue;
        if (e->seen.set == s->set && (s->updates & ~e->seen.updates[0])) return true;
        if (e->seen.set != s->set && (e->seen.set == 0 || sets_done >> e->seen.set & 1))
            return true;
    }
    return false;
}

static struct dead_end *dead_end_place(const struct state *s)
{
    uint64_t at = (s->done ^ (s->updates + s->set) * UINT64_C(0xD6E8FEB86659FD93)) *
                  UINT64_C(0x9E3779B97F4A7C15);
    for (at >>= 40;; at++) {
        struct dead_end *d = &search.dead_end[at % DEAD_ENDS];
        if (d->check != search.check) return d;
        if (d->state.done == s->done && d->state.updates == s->updates && d->state.set == s->set)
            return d;
    }
}

static bool can_go_on(struct state);

static bool try_next(struct state s, unsigned i)
{
    const struct journal_event *e = event(i);
    if (e->kind == JOURNAL_SET) do_unseen(&s);
    if (!may_be_next(&s, i)) return false;
    s.done |= UINT64_C(1) << i;
    if (e->kind == JOURNAL_SET) {
        s.set = e->number;
        s.updates = 0;
    } else {
        s.updates |= UINT64_C(1) << e->number;
    }
    return can_go_on(s);
}

static bool can_go_on(struct state s)
{
    do_reads(&s);
    if (s.done == search.all) return true;
    struct dead_end *here = dead_end_place(&s);
    if (here->check == search.check) return false;
    for (unsigned i = 0; i < search.key->count && !is_hopeless(&s); i++) {
        if (is_done(&s, i) || event(i)->kind == JOURNAL_READ || !(search.seen >> i & 1)) continue;
        if (try_next(s, i)) return true;
        if (search.is_too_wide) return false;
    }
    if (++search.dead_ends > DEAD_ENDS_MAX) search.is_too_wide = true;
    *dead_end_place(&s) = (struct dead_end){s, search.check};
    return false;
}

enum journal_verdict order_of_sets(const struct journal_key *k)
{
    search.key = k;
    search.all = k->count == 64 ? UINT64_MAX : (UINT64_C(1) << k->count) - 1;
    search.check++;
    search.dead_ends = 0;
    search.is_too_wide = false;
    note_seen();
    if (can_go_on((struct state){0})) return JOURNAL_GOOD;
    return search.is_too_wide ? JOURNAL_UNDECIDED : JOURNAL_BAD;
}
