#include "waiting.h"

#include "error.h"
#include "store/yield.h"

#include <errno.h>
#include <stdlib.h>

/* Keys of the bound at a time; and starts that are taken away beyond those that must be: the clock is then looked at as
 * seldom. */
enum { GRANT_KEYS = 4000, TAKEN_STARTS = 64 };

static void lock(struct waiting *w)
{
    unsigned spins = 0;
    while (__atomic_exchange_n(&w->latch, 1, __ATOMIC_ACQUIRE)) spin_wait(&spins);
}

static void unlock(struct waiting *w)
{
    __atomic_store_n(&w->latch, 0, __ATOMIC_RELEASE);
}

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
    lock(w);
    give_back(w, w->granted);
    free(w->heap);
    w->heap = NULL;
    w->count = w->room = 0;
    w->keys = 0;
    w->seen = 0;
    unlock(w);
}

static void sift_up(struct waiting *w, size_t i)
{
    struct waiting_start moving = w->heap[i];
    for (; i > 0 && w->heap[(i - 1) / 2].start > moving.start; i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = moving;
}

static void sift_down(struct waiting *w)
{
    struct waiting_start moving = w->heap[0];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < w->count && w->heap[child + 1].start < w->heap[child].start) child++;
        if (child >= w->count || w->heap[child].start >= moving.start) break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = moving;
}

/* Takes one away that has started; false: none has. */
static bool take_started(struct waiting *w, locus_clock now)
{
    if (w->count == 0 || w->heap[0].start > now) return false;
    w->keys -= w->heap[0].keys;
    w->heap[0] = w->heap[--w->count];
    if (w->count > 0) sift_down(w);
    return true;
}

static void give_back_surplus(struct waiting *w)
{
    if (w->granted - w->keys > 2 * GRANT_KEYS) give_back(w, w->granted - w->keys - GRANT_KEYS);
}

static bool make_room(struct waiting *w)
{
    if (w->count < w->room) return true;
    size_t room = w->room ? 2 * w->room : 64;
    struct waiting_start *larger = realloc(w->heap, room * sizeof *larger);
    if (!larger) return false;
    w->heap = larger;
    w->room = room;
    return true;
}

/* Calls for one batch follow each other: the entry added last, or the one at the top, often has the same start. */
static struct waiting_start *same_start(struct waiting *w, locus_clock start)
{
    if (w->count == 0) return NULL;
    if (w->heap[w->count - 1].start == start) return &w->heap[w->count - 1];
    return w->heap[0].start == start ? &w->heap[0] : NULL;
}

static int push(struct waiting *w, locus_clock start, uint64_t n)
{
    struct waiting_start *same = same_start(w, start);
    if (same) {
        same->keys += n;
        return 0;
    }
    if (!make_room(w)) return error_set(-ENOMEM, "no memory for %zu waiting intents", w->count);
    w->heap[w->count] = (struct waiting_start){start, n};
    sift_up(w, w->count++);
    return 0;
}

static bool grant(struct waiting *w, uint64_t keys)
{
    uint64_t before = __atomic_fetch_add(w->node_keys, keys, __ATOMIC_RELAXED);
    w->granted += keys;
    if (before + keys <= LOCUS_WAITING_KEYS_MAX) return true;
    give_back(w, keys);
    return false;
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
    return error_set(-ENOBUFS,
                     "%llu keys of this node wait for the start of their intent, %llu more pass the limit of %d: "
                     "signal later",
                     (unsigned long long)__atomic_load_n(node_keys, __ATOMIC_RELAXED), (unsigned long long)n,
                     LOCUS_WAITING_KEYS_MAX);
}

static int keep(struct waiting *w, locus_clock start, uint64_t n)
{
    int rc = n <= LOCUS_WAITING_KEYS_MAX && reserve(w, n) ? push(w, start, n) : no_room(w->node_keys, n);
    if (rc == 0) w->keys += n;
    return rc;
}

static bool has_room(const struct waiting *w, uint64_t n)
{
    return w->count < w->room && n <= w->granted - w->keys;
}

/* No more than that, so that a call costs what it brings, whatever has started since the last one. */
static void make_room_for(struct waiting *w, locus_clock now, uint64_t n)
{
    w->seen = now;
    while (!has_room(w, n) && take_started(w, now)) {
    }
    for (int i = 0; i < TAKEN_STARTS && take_started(w, now); i++) {
    }
    give_back_surplus(w);
}

/* The clock is in a cache line of the worker's, which it then waits for: we look at it when there is no room without. */
int waiting_add(struct waiting *w, const locus_clock *clock, locus_clock start, uint64_t n)
{
    int rc = 0;
    lock(w);
    if (start > w->seen && !has_room(w, n)) make_room_for(w, __atomic_load_n(clock, __ATOMIC_RELAXED), n);
    if (start > w->seen) rc = keep(w, start, n);
    if (rc == 0) w->signaled += n;
    unlock(w);
    return rc;
}

void waiting_give_up(struct waiting *w, const locus_clock *clock, uint64_t n)
{
    lock(w);
    if (w->count > 0) { /* else its worker may have closed, and the next one begins at 0 */
        w->seen = __atomic_load_n(clock, __ATOMIC_RELAXED);
        while (w->granted - w->keys < n + 2 * GRANT_KEYS && take_started(w, w->seen)) {
        }
    }
    give_back_surplus(w);
    unlock(w);
}

uint64_t waiting_signaled(struct waiting *w)
{
    lock(w);
    uint64_t signaled = w->signaled;
    unlock(w);
    return signaled;
}

int waiting_count(uint64_t *node_keys, uint64_t n)
{
    if (n <= LOCUS_WAITING_KEYS_MAX && __atomic_add_fetch(node_keys, n, __ATOMIC_RELAXED) <= LOCUS_WAITING_KEYS_MAX)
        return 0;
    if (n <= LOCUS_WAITING_KEYS_MAX) __atomic_fetch_sub(node_keys, n, __ATOMIC_RELAXED);
    return no_room(node_keys, n);
}
