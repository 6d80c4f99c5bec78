#include "base/team.h"

#include "base/error.h"
#include "base/sync.h"
#include "locus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

/* How long a helper spins for more work before it sleeps: the calls of a training step follow one
 * another, and to wake a thread takes longer than many of them. */
enum { SPIN_NS = 50000 };

struct team {
    /* The number of the run in the upper half, parts that nobody has taken in the lower. */
    uint64_t left __attribute__((aligned(64)));
    unsigned done; /* parts of the run */
    /* Of the run: written before `left`, read by who has taken a part of it. */
    team_work *work;
    void *context;
    unsigned asleep __attribute__((aligned(64))); /* helpers */
    bool ends;
    pthread_mutex_t mutex; /* of falling asleep */
    pthread_cond_t wake;
    unsigned helpers;
    pthread_t helper[];
};

/* Does one part; false: there was none. */
static bool do_part(struct team *t)
{
    uint64_t left = __atomic_load_n(&t->left, __ATOMIC_ACQUIRE);
    do {
        if ((uint32_t)left == 0) return false;
        /* Acquire: pairs with the store of team_do(); whoever takes a part sees its work. */
    } while (!__atomic_compare_exchange_n(&t->left, &left, left - 1, true, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    t->work(t->context, (uint32_t)left - 1);
    /* Release: pairs with the acquire of team_do(), which sees what the part has written. */
    __atomic_fetch_add(&t->done, 1, __ATOMIC_RELEASE);
    return true;
}

/* false: the team ends. */
static bool sleep_until_work(struct team *t)
{
    pthread_mutex_lock(&t->mutex);
    /* Sequentially consistent, as in team_do(): either we see its parts, or it sees us. */
    __atomic_fetch_add(&t->asleep, 1, __ATOMIC_SEQ_CST);
    while (!t->ends && (uint32_t)__atomic_load_n(&t->left, __ATOMIC_SEQ_CST) == 0)
        pthread_cond_wait(&t->wake, &t->mutex);
    __atomic_fetch_sub(&t->asleep, 1, __ATOMIC_SEQ_CST);
    bool ends = t->ends;
    pthread_mutex_unlock(&t->mutex);
    return !ends;
}

static void *help(void *team)
{
    struct team *t = team;
    pthread_setname_np(pthread_self(), "locus:helper");
    do {
        unsigned spins = 0;
        for (uint64_t begin = time_now_ns(); time_now_ns() - begin < SPIN_NS; spin_wait(&spins))
            while (do_part(t)) begin = time_now_ns();
    } while (sleep_until_work(t));
    return NULL;
}

/* Signals are the program's other threads'. */
static int start(struct team *t, unsigned helpers)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = 0;
    while (rc == 0 && t->helpers < helpers) {
        rc = pthread_create(&t->helper[t->helpers], NULL, help, t);
        if (rc == 0) t->helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct team *team_new(unsigned helpers)
{
    struct team *t = aligned_alloc(64, (sizeof *t + helpers * sizeof *t->helper + 63) / 64 * 64);
    if (!t) {
        error_set(-ENOMEM, "no memory for %u threads", helpers);
        return NULL;
    }
    *t = (struct team){.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    int rc = start(t, helpers);
    if (rc == 0) return t;
    error_set(-rc, "only %u of %u threads could be started: %s", t->helpers, helpers,
              locus_strerror(-rc));
    team_free(t);
    return NULL;
}

void team_do(struct team *t, unsigned parts, team_work *work, void *context)
{
    if (!t) {
        for (unsigned i = 0; i < parts; i++) work(context, i);
        return;
    }
    uint64_t run = (__atomic_load_n(&t->left, __ATOMIC_RELAXED) >> 32) + 1;
    __atomic_store_n(&t->done, 0, __ATOMIC_RELAXED);
    t->work = work;
    t->context = context;
    __atomic_store_n(&t->left, run << 32 | parts, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&t->mutex);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->mutex);
    }
    unsigned spins = 0;
    while (do_part(t)) spins = 0;
    while (__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) < parts) spin_wait(&spins);
}

void team_free(struct team *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->mutex);
    t->ends = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    for (unsigned i = 0; i < t->helpers; i++) pthread_join(t->helper[i], NULL);
    pthread_mutex_destroy(&t->mutex);
    pthread_cond_destroy(&t->wake);
    free(t);
}
