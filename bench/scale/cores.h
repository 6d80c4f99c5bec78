/*
 * cores.h - cores that threads share: who has one, for how long, and who waits for one. On virtual
 * time, and by the rules of Linux' fair scheduler (EEVDF, as of Linux 6.18).
 *
 * A host has so many cores, each with a queue of its own. A thread has had so much virtual run
 * time; one that has had no more than the mean of its core's queue is eligible. Of those that are,
 * the one with the earliest deadline runs, which is a slice after what it had when its slice began.
 * It is looked at every 4 ms (a tick), when it waits or yields, and when another one comes to its
 * core: that one preempts it if it is due earlier, and if the running one has had the shortest
 * slice of the queue or the new one's slice is shorter. Who yields gives up the rest of its slice.
 * Who wakes goes to a core that has nothing to do, else to its last one, or to that of who wakes it
 * if that has less load. A core that runs out of work takes a thread of the one with the most load,
 * and looks whether loads are balanced every 32 ms.
 *
 * Left out: groups, priorities, cgroups, hyper-threads, distances between cores, interrupts.
 *
 * A thread does all it does at the moment when it has got a core, in go(), and says there how much
 * processor time that takes, or that it spins or sleeps.
 *
 * Callers   virtual.c (the threads of fibers), platform.c (those of shards)
 * Memory    of the caller; this part's own is static
 * Waiting   never
 * Life      cores_begin, cores_open of threads, then all others; cores_close when a thread ends
 */
#ifndef BENCH_SCALE_CORES_H
#define BENCH_SCALE_CORES_H

#include "model.h"

#include <stdbool.h>
#include <stdint.h>

struct core;

struct cores_thread {
    void (*go)(void *of); /* what it asked for is over: it has a core, and looks around */
    void *of;
    int64_t slice_ns;
    /* the rest is private */
    struct core *core;                   /* its own, or its last one */
    struct cores_thread *next, *sibling; /* in its queue; of its host */
    enum cores_state { CORES_ASLEEP, CORES_QUEUED, CORES_RUNNING } state;
    bool is_spinning;
    int64_t needs_ns; /* processor time until go() */
    int64_t had_ns, deadline_ns, protected_ns;
    int64_t lag_ns, left_ns; /* when it fell asleep: of the mean, which was that */
    uint64_t ran_at_ns;
    double load;
    uint64_t load_at_ns;
    unsigned host;
};

enum { CORES_SLICE_NS = 1400000 }; /* what Linux gives on two processors */

/* cores=0: a core for each thread, and nothing here is called. */
void cores_begin(const struct model *);
bool cores_are_shared(void);
/* Threads of a node that share its host's cores with all others of that host: is there one for
 * each? */
bool cores_suffice(unsigned nodes, unsigned threads_of_a_node);

/* It sleeps at first. */
void cores_open(struct cores_thread *, unsigned node, int64_t slice_ns, void (*go)(void *of),
                void *of);
void cores_close(struct cores_thread *);
/* There is something for it, from another thread or NULL: it wakes, if it sleeps, and looks around
 * at once, if it spins. */
void cores_wake(struct cores_thread *, const struct cores_thread *by);
/* It sleeps or spins, so that news should be told. */
bool cores_is_waiting(const struct cores_thread *);

/* In go(), one of these: */
void cores_compute(struct cores_thread *, double ns);
/* It looks again and again, yielding its core each time where others want it; go() at each look
 * that matters, and when that moment has come. */
void cores_spin(struct cores_thread *, uint64_t until_ns);
void cores_sleep(struct cores_thread *);

/* EVENT_CORE has come. */
void cores_happen(struct core *, uint64_t at_ns);

#endif
