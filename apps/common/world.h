/*
 * world.h - the one interface between a training program and what it runs in: its threads, where
 * they meet and wait for each other, the clock, and which node of which cluster this is.
 *
 * world.c is the real one: threads of the system, its clock, a place in the cluster as the
 * environment says. A simulation links another one, which defines all of these: fibers on virtual
 * time (lab/papers).
 *
 * Callers   pool.c, line_parts.c and meter.c; world_computed(): loops of training, schedulers;
 *           world_ahead(): loaders; world_slow(): settings.c
 * Memory    the caller's structs
 * Waiting   world_join, world_wait and world_meet; in a simulation world_computed, too
 * Life      of each struct: init, use, fini
 */
#ifndef APPS_WORLD_H
#define APPS_WORLD_H

#include "locus.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef void *world_run(void *argument);

struct world_thread {
    pthread_t thread;
    int fiber; /* of a simulation */
    world_run *run;
    void *argument;
    const char *name;
};
/* Up to 15 letters. 0, or the system's error number. */
int world_start(struct world_thread *, const char *name, world_run *, void *argument);
void world_join(struct world_thread *);

/* A lock, and what is awaited under it. */
struct world_lock {
    pthread_mutex_t mutex;
};
struct world_signal {
    pthread_cond_t condition;
    uint64_t count; /* of a simulation */
};
void world_lock_init(struct world_lock *);
void world_lock_fini(struct world_lock *);
void world_lock_take(struct world_lock *);
void world_lock_give(struct world_lock *);
void world_signal_init(struct world_signal *);
void world_signal_fini(struct world_signal *);
/* As pthread_cond_wait: may also return without a signal. */
void world_wait(struct world_signal *, struct world_lock *);
void world_signal(struct world_signal *);

/* A meeting of so many threads, again and again. */
struct world_meeting {
    pthread_barrier_t barrier;
    unsigned members, arrived; /* of a simulation */
    uint64_t meetings;
};
void world_meeting_init(struct world_meeting *, unsigned members);
void world_meeting_fini(struct world_meeting *);
void world_meet(struct world_meeting *);

/* Seconds of a clock that never jumps. */
double world_now(void);

/* What this thread has just done: trained with so many examples (facts, cells, pairs), prepared
 * them, or compared so many values to choose what comes next. Nothing here, unless training is to
 * take longer; in a simulation the time that it takes. */
enum world_work { WORLD_TRAINED, WORLD_PREPARED, WORLD_COMPARED };
void world_computed(enum world_work, size_t examples);
/* From now on each example that is trained with takes its worker's processor for so much longer. */
void world_slow(double seconds);

/* How many clocks ahead of their use batch loaders signal intent; 0: as far as the program has it,
 * which in the real world is so. A simulation may ask what else would have done. */
size_t world_ahead(void);
/* How many portions of a clock each a program has, whose loader is to be `wanted` ahead; with
 * world_ahead() as many as that, and the one at hand. */
static inline size_t world_depth(size_t wanted)
{
    return world_ahead() > 0 ? world_ahead() + 1 : wanted;
}

/* Says in the configuration which node of which cluster this is, unless the environment does. */
void world_place(struct locus_config *);

#endif
