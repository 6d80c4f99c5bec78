#include "node/waiting.h"

#include "base/error.h"
#include "base/latch.h"

#include <errno.h>

/* How many keys of the bound are taken at a time; and how many starts are removed beyond the
 * necessary ones, so that the clock is rarely read. */
enum { GRANT_KEYS = 4000, TAKEN_STARTS = 64 };

void waiting_init(struct waiting *w, uint64_t *node_keys)
{
    *w = (struct waiting){.node_keys = node_keys};
}

static void give_back(struct waiting *w, uint64_t keys)
{
    w->granted -= keys;
    __atomic_fetch_sub(w->node_keys, keys, __ATOMIC_RELAXED);
}

/* Under the latch: another worker may be looking for room. */
void waiting_fini(struct waiting *w)
{
    latch_take(&w->latch);
    give_back(w, w->granted);
    clock_heap_fini(&w->starts);
    w->keys = 0;
    w->seen = 0;
    latch_give(&w->latch);
}

/* Takes one away that has started; false: none has. */
static bool take_started(struct waiting *w, locus_clock now)
{
    if (w->starts.count == 0 || clock_heap_first(&w->starts) > now) return false;
    w->keys -= w->starts.due[0].count;
    clock_heap_drop(&w->starts);
    return true;
}

static void give_back_surplus(struct waiting *w)
{
    if (w->granted - w->keys > 2 * GRANT_KEYS) give_back(w, w->granted - w->keys - GRANT_KEYS);
}

/* Calls for one batch come one after the other, so the entry added last, or the one at the top,
 * often has the same start. */
static struct clock_due *same_start(struct clock_heap *starts, locus_clock start)
{
    if (starts->count == 0) return NULL;
    if (starts->due[starts->count - 1].at == start) return &starts->due[starts->count - 1];
    return starts->due[0].at == start ? &starts->due[0] : NULL;
}

static int push(struct waiting *w, locus_clock start, uint64_t n)
{
    struct clock_due *same = same_start(&w->starts, start);
    if (same) {
        same->count += n;
        return 0;
    }
    if (clock_heap_add_count(&w->starts, start, n)) return 0;
    return error_set(-ENOMEM, "no memory for %zu waiting intents", w->starts.count);
}

/* Not taken and given back: meanwhile others would find no room. */
static bool take_room(uint64_t *node_keys, uint64_t n)
{
    uint64_t taken = __atomic_load_n(node_keys, __ATOMIC_RELAXED);
    do {
        if (n > LOCUS_WAITING_KEYS_MAX || taken > LOCUS_WAITING_KEYS_MAX - n) return false;
    } while (!__atomic_compare_exchange_n(node_keys, &taken, taken + n, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

static bool grant(struct waiting *w, uint64_t keys)
{
    if (!take_room(w->node_keys, keys)) return false;
    w->granted += keys;
    return true;
}

/* Room for n more waiting keys: a block if there is one, else just what is needed. */
static bool reserve(struct waiting *w, uint64_t n)
{
    if (w->keys + n <= w->granted) return true;
    uint64_t needed = w->keys + n - w->granted;
    return (needed < GRANT_KEYS && grant(w, GRANT_KEYS)) || grant(w, needed);
}

static int no_room(const uint64_t *node_keys, uint64_t n)
{
    return error_set(
        -ENOBUFS,
        "%llu keys of this node wait for the start of their intent, %llu more pass the limit of %d: "
        "signal later",
        (unsigned long long)__atomic_load_n(node_keys, __ATOMIC_RELAXED), (unsigned long long)n,
        LOCUS_WAITING_KEYS_MAX);
}

static int keep(struct waiting *w, locus_clock start, uint64_t n)
{
    int rc = n <= LOCUS_WAITING_KEYS_MAX && reserve(w, n) ? push(w, start, n)
                                                          : no_room(w->node_keys, n);
    if (rc == 0) w->keys += n;
    return rc;
}

static bool has_room(const struct waiting *w, uint64_t n)
{
    return w->starts.count < w->starts.capacity && n <= w->granted - w->keys;
}

/* At most this many, so that the cost of a call depends on its keys, and not on how many have
 * started since the last call. */
static void make_room_for(struct waiting *w, locus_clock now, uint64_t n)
{
    w->seen = now;
    while (!has_room(w, n) && take_started(w, now)) {
    }
    for (int i = 0; i < TAKEN_STARTS && take_started(w, now); i++) {
    }
    give_back_surplus(w);
}

/* The clock is in a cache line that the worker writes, so reading it makes the worker wait: we do
 * that only if the limit is reached otherwise. */
int waiting_add(struct waiting *w, const locus_clock *clock, locus_clock start, uint64_t n)
{
    int rc = 0;
    latch_take(&w->latch);
    if (start > w->seen && !has_room(w, n))
        make_room_for(w, __atomic_load_n(clock, __ATOMIC_RELAXED), n);
    if (start > w->seen) rc = keep(w, start, n);
    if (rc == 0) w->signaled += n;
    latch_give(&w->latch);
    return rc;
}

void waiting_give_up(struct waiting *w, const locus_clock *clock, uint64_t n)
{
    latch_take(&w->latch);
    if (w->starts.count > 0) { /* else its worker may have closed, and the next one begins at 0 */
        w->seen = __atomic_load_n(clock, __ATOMIC_RELAXED);
        while (w->granted - w->keys < n + 2 * GRANT_KEYS && take_started(w, w->seen)) {
        }
    }
    give_back_surplus(w);
    latch_give(&w->latch);
}

uint64_t waiting_signaled(struct waiting *w)
{
    latch_take(&w->latch);
    uint64_t signaled = w->signaled;
    latch_give(&w->latch);
    return signaled;
}

int waiting_count(uint64_t *node_keys, uint64_t n)
{
    return take_room(node_keys, n) ? 0 : no_room(node_keys, n);
}
