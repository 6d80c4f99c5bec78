/*
 * fibers.h - threads of a test as fibers on one thread, and a seed that decides who goes on.
 *
 * The library, built with LOCUS_FIBERS, calls locus_fiber_yield() at its narrow places. There the
 * seed chooses the next fiber, so a race is a matter of the seed, and the same seed finds it again.
 * How the seed chooses differs from seed to seed: races differ in what they need.
 *
 * Callers   simulation programs, from their one thread
 * Memory    stacks, once for all runs
 * Waiting   never
 * Life      any number of: fibers_begin, fibers_add ..., fibers_run
 */
#ifndef LOCUS_TEST_FIBERS_H
#define LOCUS_TEST_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBERS_MAX = 1200 };

enum fibers_policy {
    FIBERS_UNIFORM, /* anyone at each step */
    FIBERS_BURSTS,  /* goes on for a while, then anyone */
    /* strictly by rank; at a few random steps the running one falls to the lowest rank */
    FIBERS_PRIORITIES,
    FIBERS_STARVED, /* one of them hardly ever runs */
    FIBERS_POLICIES
};

enum fibers_end {
    FIBERS_ENDED,   /* all functions returned */
    FIBERS_STOPPED, /* one called fibers_stop() */
    FIBERS_ENDLESS, /* the bound of steps was reached */
    FIBERS_STUCK,   /* all that have not ended wait, and the idle function could not help */
};

/* A new run: forgets all fibers. */
void fibers_begin(enum fibers_policy, uint64_t seed);
/* Called when all fibers wait; false: it changed nothing either. */
void fibers_set_idle(bool (*idle)(void));
/* Called at every step, before the next fiber is chosen. */
void fibers_set_watch(void (*watch)(void));
/* What the library's time is here; else the real one. */
void fibers_set_clock(uint64_t (*now_ns)(void));
/* For a simulation that keeps time itself, on the stack of whoever waits: nobody is interrupted at
 * a narrow place, and who waits does so until `next` names him by his place in the order of
 * fibers_add, when his condition holds; -1: all wait for ever. Instead of policy, idle and watch,
 * until fibers_begin. */
void fibers_set_director(int (*next)(void));
void fibers_add(void (*run)(void *argument), void *argument);
/* Can it go on? For the director. */
bool fibers_is_ready(unsigned place);
enum fibers_end fibers_run(uint64_t steps_max);

/* Ends the run from within a fiber; does not return. */
_Noreturn void fibers_stop(void);
/* The place in the order of fibers_add of who is running; -1: outside a run. */
int fibers_current(void);
uint64_t fibers_steps(void);
/* Nobody is interrupted, while a fiber does what holds a lock of threads. */
void fibers_alone(bool);

/* A narrow place. Outside a run it does nothing. */
void locus_fiber_yield(void);
/* The time of whom shards share it with. */
uint64_t locus_fiber_now_ns(void);
/* Others run until the condition holds and the seed chooses the caller again. Outside a run it must
 * hold. */
void locus_fiber_wait(bool (*condition)(const void *), const void *);

/* A small generator of random numbers, good enough for choices. */
struct dice {
    uint64_t state;
};
uint64_t dice_throw(struct dice *);
/* 0 ... sides-1 */
static inline unsigned dice_below(struct dice *d, unsigned sides)
{
    return (unsigned)((dice_throw(d) >> 32) * sides >> 32);
}

#endif
