/*
 * batch_loader.h - a worker's loader: a thread that prepares portions of work ahead, and signals
 * intent for them meanwhile.
 *
 * The queue is bounded: the loader is at most `depth` portions ahead of the worker, fewer at the
 * beginning; then it waits. The program's `fill` defines what a portion is, how many clocks it
 * takes, and which keys are signaled.
 *
 * Callers   batch_loader_open, _take, _give and _close: the worker's thread; `fill`: the loader's
 * Memory    depth portions, the caller's type
 * Waiting   batch_loader_take(): until a portion is ready; batch_loader_close(): for the loader to
 *           end
 * Life      open, any mix of take and give, close; close ends the loader wherever it is
 */
#ifndef APPS_BATCH_LOADER_H
#define APPS_BATCH_LOADER_H

#include "locus.h"
#include "world.h"

#include <stdbool.h>
#include <stddef.h>

/* Prepares one portion on the loader's thread. `loader` is NULL when there is no worker (the
 * baseline). False: there is nothing more, and the portion is not used. */
typedef bool batch_loader_fill(void *context, locus_loader *loader, void *portion);

struct batch_loader {
    locus_loader *loader;
    batch_loader_fill *fill;
    void *context;
    void **portions;
    size_t depth;

    struct world_thread thread;
    struct world_lock lock;
    struct world_signal has_room, has_more;
    size_t filled, given, taken; /* counts since the start */
    bool is_over, is_closing;
    bool is_exact; /* world_ahead(): as far ahead as it can be, from the beginning */
};

/* How many portions of a clock each a program has, whose loader is to be `wanted` ahead; with
 * world_ahead() as many as that, and the one at hand. */
size_t batch_loader_depth(size_t wanted);

/* `portions` are `depth` pointers, which stay valid until batch_loader_close(). */
void batch_loader_open(struct batch_loader *, locus_worker *, void **portions, size_t depth,
                       batch_loader_fill *, void *context);
/* The next portion, or NULL after the last. It is the worker's until it is given back. */
void *batch_loader_take(struct batch_loader *);
/* Gives the oldest taken portion back. */
void batch_loader_give(struct batch_loader *);
void batch_loader_close(struct batch_loader *);

#endif
