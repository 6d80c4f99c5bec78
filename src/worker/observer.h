/*
 * observer.h - observes some of a worker's calls, if the node serves metrics: how long they take,
 * and, while somebody asks for the hottest keys, which keys they name.
 *
 * The fast path to a row that is here counts nothing, because every instruction costs there.
 * Instead, a thread wakes every OBSERVER_PAUSE_NS and takes away the workers' short cut (`only` of
 * node.h). The next OBSERVER_WINDOW calls take the long way, where some, at random distances, are
 * observed. The last of them restores the short cut.
 *
 * Callers   the worker's thread; metrics ask from threads of their own
 * Memory    10 KiB a worker, and a thread, if metrics are served; otherwise nothing
 * Waiting   observers_stop for the thread, which itself never waits
 * Life      observer_new before the worker works, observers_start, observers_stop, observer_free
 */
#ifndef LOCUS_WORKER_OBSERVER_H
#define LOCUS_WORKER_OBSERVER_H

#include "store/store.h"
#include "locus.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OBSERVER_PAUSE_NS = 20000000,
    OBSERVER_WINDOW = 256,
    OBSERVER_EVERY = 16, /* about one in this many of a window's calls */
    OBSERVER_KEYS = 1024,
};

struct observer {
    /* The worker. */
    struct partition *only; /* its short cut */
    uint32_t window, left;  /* calls: left in this window, and until the next to be observed */
    uint64_t random;
    /* nanoseconds; read by any thread. For asynchronous calls, until the last answer had arrived */
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

/* Is this call to be observed? `only` is the worker's. */
bool observer_is_due(struct observer *, struct partition **only);
/* It was, named these keys, and took `ns`. */
void observer_note(struct observer *, bool is_pull, uint64_t ns, const locus_key *, size_t n);
/* The same for a call that is not timed. */
void observer_note_keys(struct observer *, const locus_key *, size_t n);

/* From another thread: copies the keys noted since `seen` to `out`, at most the last OBSERVER_KEYS,
 * and advances `seen`. Returns how many. */
size_t observer_take(const struct observer *, uint64_t *seen, locus_key out[OBSERVER_KEYS]);

/* The thread that opens windows for all workers of a node; locus.c implements a window. */
struct observers;
int observers_start(locus *, struct observers **out); /* 0, or with the sentence */
/* Keys are noted until then. Any thread. */
void observers_want_keys(struct observers *, uint64_t until_ns);
void observers_stop(struct observers *); /* NULL is allowed */

#endif
