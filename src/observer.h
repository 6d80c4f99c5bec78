/*
 * observer.h - looks at some of a worker's calls, where the node serves metrics: how long they
 * take, and, while somebody asks for the hottest keys, which keys they name.
 *
 * Nothing is counted on the fast path to a row that is here, where every instruction costs. Instead
 * a thread that wakes every OBSERVER_PAUSE_NS takes the workers' short cut away (`only` of node.h);
 * the next OBSERVER_WINDOW calls go the long way, where some, at random distances, are looked at;
 * and the last one restores the short cut.
 *
 * Callers   access.c and reading.c on the worker's thread; locus.c; metrics.c asks, from its
 *           threads
 * Memory    10 KiB a worker, and a thread, where metrics are served; nothing elsewhere
 * Waiting   observers_stop for the thread, which never waits for anybody
 * Life      observer_new before the worker works, observers_start, observers_stop, observer_free
 */
#ifndef LOCUS_OBSERVER_H
#define LOCUS_OBSERVER_H

#include "locus.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OBSERVER_PAUSE_NS = 20000000,
    OBSERVER_WINDOW = 256,
    OBSERVER_EVERY = 16, /* about one in so many of a window's calls */
    OBSERVER_KEYS = 1024,
};

struct observer {
    /* The worker. */
    struct partition *only; /* its short cut */
    uint32_t window, left;  /* calls: of this window, until the one to be looked at */
    uint64_t random;
    /* nanoseconds; read by any thread. Of asynchronous calls, until the last answer was there */
    struct locus_histogram pull, push, pull_async, push_async;
    uint64_t noted;               /* keys, ever; atomic */
    locus_key key[OBSERVER_KEYS]; /* the last of them; atomic */
    /* The observers' thread; atomic. */
    bool opens;      /* a window */
    bool wants_keys; /* somebody asks for them */
};

/* NULL: no memory. */
struct observer *observer_new(struct partition *only, unsigned worker);
void observer_free(struct observer *); /* NULL is allowed */

/* Is this call one to be looked at? `only` is the worker's. */
bool observer_is_due(struct observer *, struct partition **only);
/* It is, named these keys, and took so long. */
void observer_note(struct observer *, bool is_pull, uint64_t ns, const locus_key *, size_t n);
/* The same of what is not timed. */
void observer_note_keys(struct observer *, const locus_key *, size_t n);

/* From another thread: copies keys noted since `seen` to `out`, the last OBSERVER_KEYS at most, and
 * moves `seen` on. Returns how many. */
size_t observer_take(const struct observer *, uint64_t *seen, locus_key out[OBSERVER_KEYS]);

/* The thread that opens windows for all workers of a node; locus.c says what a window is to
 * them. */
struct observers;
int observers_start(locus *, struct observers **out); /* 0, or with the sentence */
/* Keys are noted until then. Any thread. */
void observers_want_keys(struct observers *, uint64_t until_ns);
void observers_stop(struct observers *); /* NULL is allowed */

#endif
