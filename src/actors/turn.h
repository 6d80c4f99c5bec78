/*
 * turn.h - who acts for a shard now: its thread; or, while that sleeps, a worker that waits for it.
 *
 * One word says it. A thread that sleeps leaves the turn to nobody, or stays the only one who may
 * take it. News for the thread is marked in the same word, so none is missed between two checks: who
 * marks it sees a thread that sleeps, and wakes it; or a thread that has not yet left, or a worker,
 * whose leaving then fails.
 *
 * Callers   turn_want any thread; those of a worker that one alone, and of the thread likewise
 * Memory    none
 * Waiting   turn_take_back: for the end of a worker's turn
 * Life      zeroed: the thread has it, and for ever if it ends so
 */
#ifndef LOCUS_ACTORS_TURN_H
#define LOCUS_ACTORS_TURN_H

#include "base/sync.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

struct turn {
    uint32_t word; /* 0: the thread has it, and checks before it leaves */
};

enum {
    TURN_WANTED = 1, /* there is news, or the thread waits for its turn */
    TURN_NOBODYS = 2,
    TURN_ASLEEP = 4, /* nobody's, and none but the thread may take it */
    TURN_WORKERS = 8,
};

/* There is news for the thread. True: it sleeps, or is about to, and the caller must wake it. */
static inline bool turn_want(struct turn *t)
{
    LOCUS_YIELD();
    uint32_t was = __atomic_fetch_or(&t->word, TURN_WANTED, __ATOMIC_SEQ_CST);
    return was != 0 && !(was & TURN_WANTED);
}

static inline bool turn_is_wanted(const struct turn *t)
{
    LOCUS_YIELD();
    return __atomic_load_n(&t->word, __ATOMIC_RELAXED) & TURN_WANTED;
}

static inline bool turn_changes(struct turn *t, uint32_t from, uint32_t to)
{
    LOCUS_YIELD();
    return __atomic_compare_exchange_n(&t->word, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
}

/* ---- the thread ---- */

/* Before the thread checks whether there is news, and that before turn_leave(). */
static inline void turn_check(struct turn *t)
{
    LOCUS_YIELD();
    __atomic_exchange_n(&t->word, 0, __ATOMIC_SEQ_CST);
}

/* False: there is news. */
static inline bool turn_leave(struct turn *t, bool to_worker)
{
    return turn_changes(t, 0, to_worker ? TURN_NOBODYS : TURN_ASLEEP);
}

static inline bool turn_is_left(const void *turn)
{
    const struct turn *t = turn;
    return !(__atomic_load_n(&t->word, __ATOMIC_ACQUIRE) & TURN_WORKERS);
}

/* After its sleep, with the check. */
static inline void turn_take_back(struct turn *t)
{
    LOCUS_YIELD();
    __atomic_fetch_or(&t->word, TURN_WANTED, __ATOMIC_SEQ_CST);
    while (!turn_is_left(t)) {
#ifdef LOCUS_FIBERS
        locus_fiber_wait(turn_is_left, t);
#else
        syscall(SYS_futex, &t->word, FUTEX_WAIT_PRIVATE, TURN_WORKERS | TURN_WANTED, NULL, NULL, 0);
#endif
    }
    turn_check(t);
}

/* ---- the worker ---- */

static inline bool turn_is_ours(const struct turn *t)
{
    return __atomic_load_n(&t->word, __ATOMIC_RELAXED) & TURN_WORKERS;
}

static inline bool turn_take(struct turn *t)
{
    return __atomic_load_n(&t->word, __ATOMIC_RELAXED) == TURN_NOBODYS &&
           turn_changes(t, TURN_NOBODYS, TURN_WORKERS);
}

/* Leaves a thread asleep that need do nothing. False: it must. */
static inline bool turn_return(struct turn *t)
{
    return turn_changes(t, TURN_WORKERS, TURN_NOBODYS);
}

/* Leaves it to the thread. True: the caller must wake that. */
static inline bool turn_give(struct turn *t)
{
    LOCUS_YIELD();
    uint32_t was = __atomic_exchange_n(&t->word, TURN_NOBODYS | TURN_WANTED, __ATOMIC_SEQ_CST);
    if (!(was & TURN_WANTED)) return true;
#ifndef LOCUS_FIBERS
    syscall(SYS_futex, &t->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
    return false;
}

#endif
