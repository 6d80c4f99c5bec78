/*
 * virtual.h - virtual time, and the fibers that live in it: each belongs to a node and stands for a
 * thread there.
 *
 * A fiber that waits for a condition looks again whenever another fiber of its node has run, and
 * when virtual_news() says that something has come. Time passes only while all wait. Of two things
 * at the same moment that one happens first which was planned first: the same program comes to the
 * same end each time.
 *
 * Memory    of test/sim/fibers.h, and 32 bytes an event that waits
 * Waiting   as fibers
 * Life      virtual_begin, virtual_start for some, virtual_run, virtual_end
 */
#ifndef BENCH_SCALE_VIRTUAL_H
#define BENCH_SCALE_VIRTUAL_H

#include <stdbool.h>
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

enum { VIRTUAL_NODES_MAX = 256 };

/* `happen` is told of all events but those of fibers. */
void virtual_begin(void (*happen)(const struct event *));
/* Forgets what is still to come; `forget` is told of it. */
void virtual_end(void (*forget)(const struct event *));
uint64_t virtual_now_ns(void);
void virtual_plan(uint64_t at_ns, enum event_kind, void *what);

/* A fiber of that node; its number. From outside or from another fiber. */
int virtual_start(unsigned node, void (*run)(void *argument), void *argument);
bool virtual_has_ended(int fiber);
/* Of the running fiber; outside 0 and -1. */
unsigned virtual_node(void);
int virtual_fiber(void);
/* To the end of all fibers; false: they wait for each other for ever. */
bool virtual_run(void);

void virtual_sleep_until(uint64_t ns);
/* From then on the node's fibers have something to look at. */
void virtual_news(unsigned node, uint64_t at_ns);

#endif
