/* What other threads ask of a reactor. */
#include "actors/reactor_private.h"

#include "base/time.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

int reactor_snapshot(struct reactor *r, uint64_t index, struct key_snapshot *out)
{
    static const struct timespec pause = {.tv_nsec = 500000};
    struct question q = {.index = index, .answer = out};
    uint64_t until_ns = time_now_ns() + REACTOR_SNAPSHOT_S * UINT64_C(1000000000);
    __atomic_store_n(&r->shared.question, &q, __ATOMIC_SEQ_CST);
    reactor_wake(r);
    while (!__atomic_load_n(&q.is_answered, __ATOMIC_ACQUIRE)) {
        struct question *ours = &q; /* the thread that has taken it answers at once */
        if (time_now_ns() > until_ns &&
            __atomic_compare_exchange_n(&r->shared.question, &ours, NULL, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
    return 0;
}

void reactor_lose(struct reactor *r, unsigned rank, const char *reason)
{
    int none = 0;
    if (!__atomic_compare_exchange_n(&r->shared.loss, &none, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    r->shared.lost_rank = rank;
    snprintf(r->shared.reason, sizeof r->shared.reason, "%s", reason);
    __atomic_store_n(&r->shared.loss, 2, __ATOMIC_RELEASE);
    reactor_wake(r);
}

void reactor_see(struct reactor *r, struct change change, int fd)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    while (__atomic_load_n(&r->shared.has_change, __ATOMIC_ACQUIRE)) nanosleep(&pause, NULL);
    r->shared.change = change;
    r->shared.fd = fd;
    __atomic_store_n(&r->shared.has_change, 1, __ATOMIC_RELEASE);
    reactor_wake(r);
}

void reactor_all_run(struct reactor *r)
{
    uring_all_run(r->uring);
}

const struct shard *reactor_shard(const struct reactor *r)
{
    return &r->shard;
}

void reactor_add_link(const struct reactor *r, unsigned peer, struct link_stats *to)
{
    const struct link *l = __atomic_load_n(&r->link[peer], __ATOMIC_ACQUIRE);
    if (l) link_add_stats(l, to);
}

struct link_load reactor_load(const struct reactor *r, unsigned peer)
{
    struct link *l = __atomic_load_n(&r->link[peer], __ATOMIC_ACQUIRE);
    return l ? link_load(l) : (struct link_load){0};
}

struct reactor_figures reactor_figures(const struct reactor *r)
{
    struct timespec used = {0};
    clockid_t clock;
    if (r->started && pthread_getcpuclockid(r->thread, &clock) == 0) clock_gettime(clock, &used);
    return (struct reactor_figures){.cpu_s = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec,
                                    .sleeps = __atomic_load_n(&r->sleeps, __ATOMIC_RELAXED),
                                    .buffer_bytes = uring_buffer_bytes(r->uring)};
}
