#include "worker/observer.h"

#include "base/condition.h"
#include "base/error.h"
#include "base/histogram.h"
#include "worker/node.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct observers {
    locus *node;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ends_now;
    bool ends;
    uint64_t keys_until_ns; /* atomic */
};

/* ---- a worker's ---- */

static uint32_t draw(struct observer *o)
{
    o->random ^= o->random << 13;
    o->random ^= o->random >> 7;
    o->random ^= o->random << 17;
    return (uint32_t)(o->random >> 32);
}

static uint32_t next_distance(struct observer *o)
{
    return 1 + draw(o) % (2 * OBSERVER_EVERY - 1);
}

struct observer *observer_new(struct partition *only, unsigned worker)
{
    struct observer *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->only = only;
    o->random = (worker + 1) * UINT64_C(0x9E3779B97F4A7C15);
    o->left = next_distance(o);
    return o;
}

void observer_free(struct observer *o)
{
    free(o);
}

/* If a window opens while another is ending, the long way may stay in use without a window; the
 * next call that finds this ends it. */
bool observer_is_due(struct observer *o, struct partition **only)
{
    if (__atomic_load_n(&o->opens, __ATOMIC_RELAXED)) {
        __atomic_store_n(&o->opens, false, __ATOMIC_RELAXED);
        o->window = OBSERVER_WINDOW;
    }
    if (o->window > 0) o->window--;
    if (o->window == 0) {
        /* the line is read by all who use the worker: not written without need */
        if (__atomic_load_n(only, __ATOMIC_RELAXED) != o->only)
            __atomic_store_n(only, o->only, __ATOMIC_RELAXED);
        return false;
    }
    if (--o->left > 0) return false;
    o->left = next_distance(o);
    return true;
}

void observer_note_keys(struct observer *o, const locus_key *keys, size_t n)
{
    if (!__atomic_load_n(&o->wants_keys, __ATOMIC_RELAXED)) return;
    if (n > OBSERVER_KEYS / 4) n = OBSERVER_KEYS / 4;
    uint64_t noted = o->noted;
    for (size_t i = 0; i < n; i++)
        __atomic_store_n(&o->key[(noted + i) % OBSERVER_KEYS], keys[i], __ATOMIC_RELAXED);
    __atomic_store_n(&o->noted, noted + n, __ATOMIC_RELEASE);
}

void observer_note(struct observer *o, bool is_pull, uint64_t ns, const locus_key *keys, size_t n)
{
    histogram_add(is_pull ? &o->pull : &o->push, ns);
    observer_note_keys(o, keys, n);
}

/* Of keys that the worker overwrites meanwhile some may come twice and others not at all. */
size_t observer_take(const struct observer *o, uint64_t *seen, locus_key out[OBSERVER_KEYS])
{
    uint64_t noted = __atomic_load_n(&o->noted, __ATOMIC_ACQUIRE);
    uint64_t n = noted - *seen < OBSERVER_KEYS ? noted - *seen : OBSERVER_KEYS;
    for (uint64_t i = 0; i < n; i++)
        out[i] = __atomic_load_n(&o->key[(noted - n + i) % OBSERVER_KEYS], __ATOMIC_RELAXED);
    *seen = noted;
    return (size_t)n;
}

/* ---- the thread ---- */

static void open_windows(const locus *n, bool wants_keys)
{
    for (unsigned i = 0; i < n->workers; i++) {
        locus_worker *w = &n->worker[i];
        __atomic_store_n(&w->observer->wants_keys, wants_keys, __ATOMIC_RELAXED);
        __atomic_store_n(&w->observer->opens, true, __ATOMIC_RELAXED);
        __atomic_store_n(&w->only, NULL, __ATOMIC_RELAXED);
    }
}

static void *run(void *observers)
{
    struct observers *all = observers;
    pthread_mutex_lock(&all->mutex);
    while (!all->ends) {
        uint64_t now_ns = clock_now_ns(), next_ns = now_ns + OBSERVER_PAUSE_NS;
        open_windows(all->node, now_ns < __atomic_load_n(&all->keys_until_ns, __ATOMIC_RELAXED));
        while (!all->ends && condition_wait(&all->ends_now, &all->mutex, next_ns)) continue;
    }
    pthread_mutex_unlock(&all->mutex);
    return NULL;
}

static void free_all(struct observers *all)
{
    pthread_cond_destroy(&all->ends_now);
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

int observers_start(locus *n, struct observers **out)
{
    struct observers *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all) return error_set(-ENOMEM, "no memory for metrics");
    all->node = n;
    pthread_mutex_init(&all->mutex, NULL);
    condition_init(&all->ends_now);
    int rc = pthread_create(&all->thread, NULL, run, all);
    if (rc) {
        free_all(all);
        return error_set(-rc, "no thread for metrics: %s (ulimit -u)", locus_strerror(-rc));
    }
    pthread_setname_np(all->thread, "locus:observe");
    *out = all;
    return 0;
}

void observers_want_keys(struct observers *all, uint64_t until_ns)
{
    __atomic_store_n(&all->keys_until_ns, until_ns, __ATOMIC_RELAXED);
}

void observers_stop(struct observers *all)
{
    if (!all) return;
    pthread_mutex_lock(&all->mutex);
    all->ends = true;
    pthread_cond_signal(&all->ends_now);
    pthread_mutex_unlock(&all->mutex);
    pthread_join(all->thread, NULL);
    free_all(all);
}
