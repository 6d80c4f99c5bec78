#include "history.h"

#include <inttypes.h>
#include <stdio.h>

/* The search (Wing and Gong): any operation that was called before the first of the others returned
 * may be next. States that led nowhere are remembered: what was done, and the value. */

enum { DEAD_ENDS = 1 << 16, DEAD_ENDS_MAX = DEAD_ENDS / 2 };

struct dead_end {
    uint64_t done;
    int64_t value;
    uint64_t check; /* the check that it belongs to: nothing needs clearing */
};

struct search {
    const struct history *history;
    uint64_t all;
    unsigned dead_ends;
    bool too_wide;
};

static struct dead_end dead_end[DEAD_ENDS];
static uint64_t check_number;

bool history_add(struct history *h, enum history_kind kind, int64_t value, uint64_t called,
                 uint64_t returned)
{
    if (h->count == HISTORY_MAX) return false;
    h->operation[h->count++] = (struct history_operation){kind, value, called, returned};
    return true;
}

static struct dead_end *dead_end_place(uint64_t done, int64_t value)
{
    uint64_t at = (done ^ (uint64_t)value * UINT64_C(0xD6E8FEB86659FD93)) *
                  UINT64_C(0x9E3779B97F4A7C15);
    for (at >>= 40;; at++) {
        struct dead_end *d = &dead_end[at % DEAD_ENDS];
        if (d->check != check_number || (d->done == done && d->value == value)) return d;
    }
}

static uint64_t first_return(const struct history *h, uint64_t done)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < h->count; i++)
        if (!(done >> i & 1) && h->operation[i].returned < first) first = h->operation[i].returned;
    return first;
}

/* Reads that fit are always next: doing them now hinders nobody. */
static uint64_t do_reads(const struct history *h, uint64_t done, int64_t value)
{
    for (bool found = true; found;) {
        uint64_t first = first_return(h, done);
        found = false;
        for (unsigned i = 0; i < h->count; i++) {
            const struct history_operation *o = &h->operation[i];
            if (done >> i & 1 || o->kind != HISTORY_READ || o->value != value || o->called > first)
                continue;
            done |= UINT64_C(1) << i;
            found = true;
        }
    }
    return done;
}

/* Among operations that do the same and may all be next, the first to return goes first: the others
 * can only wait longer. */
static bool has_earlier_twin(const struct history *h, uint64_t done, uint64_t first, unsigned which)
{
    const struct history_operation *o = &h->operation[which];
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_operation *twin = &h->operation[i];
        if (done >> i & 1 || twin->kind != o->kind || twin->value != o->value ||
            twin->called > first)
            continue;
        if (twin->returned < o->returned || (twin->returned == o->returned && i < which))
            return true;
    }
    return false;
}

static bool can_be_ordered(struct search *s, uint64_t done, int64_t value)
{
    const struct history *h = s->history;
    done = do_reads(h, done, value);
    if (done == s->all) return true;
    struct dead_end *here = dead_end_place(done, value);
    if (here->check == check_number) return false;
    uint64_t first = first_return(h, done);
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_operation *o = &h->operation[i];
        if (done >> i & 1 || o->kind == HISTORY_READ || o->called > first) continue;
        if (has_earlier_twin(h, done, first, i)) continue;
        int64_t next = o->kind == HISTORY_ADD ? value + o->value : o->value;
        if (can_be_ordered(s, done | UINT64_C(1) << i, next)) return true;
        if (s->too_wide) return false;
    }
    if (++s->dead_ends > DEAD_ENDS_MAX) s->too_wide = true;
    *dead_end_place(done, value) = (struct dead_end){done, value, check_number};
    return false;
}

enum history_verdict history_check(const struct history *h)
{
    struct search s = {.history = h,
                       .all = h->count == 64 ? UINT64_MAX : (UINT64_C(1) << h->count) - 1};
    check_number++;
    if (can_be_ordered(&s, 0, 0)) return HISTORY_GOOD;
    return s.too_wide ? HISTORY_TOO_WIDE : HISTORY_BAD;
}

void history_print(const struct history *h)
{
    static const char *const name[] = {"read", "add ", "set "};
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_operation *o = &h->operation[i];
        printf("    %6" PRIu64 " .. %6" PRIu64 "  %s %" PRId64 "\n", o->called, o->returned,
               name[o->kind], o->value);
    }
}
