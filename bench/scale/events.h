/*
 * events.h - what will happen, by virtual time; of two at the same moment the one that was put
 * first.
 *
 * Callers   one thread
 * Memory    32 bytes an event that waits
 * Waiting   never
 * Life      any use, events_free
 */
#ifndef BENCH_SCALE_EVENTS_H
#define BENCH_SCALE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_AT_CARD, /* a frame's first byte has come to the receiver's card */
    EVENT_ARRIVED, /* its last one is in the receiver's memory */
    EVENT_TURN,    /* a shard's turn, unless it had an earlier one */
    EVENT_FIBER,   /* a fiber may go on */
    EVENT_NODE,    /* what a node's fibers wait for may have come */
};

struct event {
    uint64_t at_ns, order;
    void *what;
    enum event_kind kind;
};

struct events {
    struct event *heap;
    size_t count, capacity;
    uint64_t order;
};

void events_put(struct events *, uint64_t at_ns, enum event_kind, void *what);
/* false: there is none. */
bool events_take(struct events *, struct event *);
void events_free(struct events *);

#endif
