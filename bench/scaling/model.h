/*
 * model.h - what more workers should bring, by a model of a machine's caches that is stated here in
 * full. It has no memory in common with what is measured but the time of one worker.
 *
 * Assumed: W workers draw keys from one distribution, each on its own. An access that writes needs
 * the row's cache lines, and with locus the line of its latch, for its own core. A row that is
 * accessed often enough to be in a cache is in the cache of whoever wrote it last, which is any of
 * the W alike: (W - 1) / W of the time another core, of its own socket or of another as the workers
 * are placed. Each line then costs `near_ns` or `far_ns` more than one worker pays, of which a
 * processor that has 64 keys at a time hides all but one part of `overlap`. Rows beyond those come
 * from memory, whoever accesses them, and cost what one worker pays. Reads move nothing: lines that
 * nobody writes are in all caches.
 *
 * A row can be written by one at a time: it is held while its lines come, of which nothing is
 * hidden, and `hold_ns` longer. So all together are no faster than the hottest row allows.
 *
 * Not in it: the bandwidth of memory, hyper-threads, latches that are waited for in the middle of a
 * queue (only its limit is), the system's own work.
 *
 * Callers   any thread
 * Memory    none
 * Waiting   never
 */
#ifndef BENCH_SCALING_MODEL_H
#define BENCH_SCALING_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_WORKERS_MAX = 256, MODEL_LINE = 64 };

struct model {
    unsigned sockets, cores; /* cores of a socket */
    double near_ns, far_ns;  /* a line from another core of the socket, from another socket */
    double hold_ns;          /* writing a row whose lines are here */
    double cache_bytes;      /* of a core */
    double overlap;          /* lines that a core waits for at once */
};

/* Orders of magnitude of today's servers: measure yours, and say --near and --far. */
#define MODEL_DEFAULTS \
    { \
        .near_ns = 40, .far_ns = 130, .hold_ns = 5, .cache_bytes = 1 << 20, .overlap = 6 \
    }

struct model_load {
    uint64_t rows;
    unsigned length; /* floats of a row */
    bool writes;
    bool has_latch;       /* one line more */
    double zipf_exponent; /* 0: uniform */
    double alone_ns;      /* a key, with one worker */
};

/* How often the work of one worker so many do in the time. socket_of: of each worker. */
double model_gain(const struct model *, const struct model_load *, unsigned workers,
                  const unsigned *socket_of);

/* The sockets of workers on the model's machine: one socket after the other, or in turn. */
void model_place(const struct model *, bool is_spread, unsigned workers, unsigned *socket_of);

#endif
