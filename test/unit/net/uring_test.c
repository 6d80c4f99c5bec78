/* The ring: sleep and wake-up, threads, and the end. */
#include "net/ends.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- sleep and wake-up ----------------------------------------------------------------------- */

enum { WAKES = 100000 };

struct waker {
    struct uring *uring;
    uint64_t woken, heard; /* shared */
};

/* Wakes, and waits until it was heard: a wake-up that gets lost stops everything. */
static void *wake_often(void *context)
{
    struct waker *w = context;
    unsigned seed = 9;
    for (uint64_t i = 1; i <= WAKES; i++) {
        __atomic_store_n(&w->woken, i, __ATOMIC_RELEASE);
        uring_wake(w->uring);
        for (int k = rand_r(&seed) % 300; k > 0; k--) __atomic_load_n(&w->heard, __ATOMIC_RELAXED);
        if (rand_r(&seed) % 4) continue;
        while (__atomic_load_n(&w->heard, __ATOMIC_ACQUIRE) < i) sched_yield();
    }
    return NULL;
}

TEST_WITH(uring, loses_no_wake_up, facing, f)
{
    pthread_t thread;
    struct waker w = {.uring = f->end.uring};
    CHECK(!pthread_create(&thread, NULL, wake_often, &w));
    for (uint64_t heard = 0; heard < WAKES;) {
        uint64_t before = now_ns();
        if (uring_poll(f->end.uring, before) == 0) end_wait(&f->end, before + 20 * SECOND);
        CHECK(now_ns() - before < 10 * SECOND);
        heard = __atomic_load_n(&w.woken, __ATOMIC_ACQUIRE);
        __atomic_store_n(&w.heard, heard, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct half {
    struct end *end;
    bool asks, sleeps;
    uint32_t length;
    uint64_t rounds, ahead; /* how many entries may be on their way */
};

static void rest(const struct half *h)
{
    struct uring *u = h->end->uring;
    if (h->sleeps) {
        uring_tick(u, now_ns());
        end_wait(h->end, uring_next_tick_ns(u));
    } else {
        uring_submit(u);
        sched_yield(); /* where the two share a core each round would take a slice */
    }
    uring_poll(u, now_ns());
}

/* A peer that is not heard any more is a failure, after the time-out. */
static void *run_half(void *context)
{
    const struct half *h = context;
    struct end *e = h->end;
    uint64_t put = 0;
    end_start(e);
    e->echoes = !h->asks;
    while (e->entries < h->rounds && e->failures == 0) {
        while (h->asks && put < h->rounds && put < e->entries + h->ahead)
            CHECK(ends_put(e->link, put++, h->length));
        link_flush(e->link);
        rest(h);
    }
    link_bye(e->link);
    while (!link_is_drained(e->link) || !link_peer_is_gone(e->link)) rest(h);
    uring_stop(e->uring);
    return NULL;
}

/* The rings are opened here, used there, and closed here when that thread has ended. */
static void run_halves(bool is_shm, struct half how)
{
    struct end e[2];
    struct half half[2] = {how, how};
    pthread_t thread[2];
    ends_create(e, (struct ends_how){.is_shm = is_shm,
                                     .entry_bytes_max = wire_entry_bytes(how.length),
                                     .timeout_s = 60});
    half[0].asks = true;
    for (int i = 0; i < 2; i++) {
        half[i].end = &e[i];
        CHECK(!pthread_create(&thread[i], NULL, run_half, &half[i]));
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(e[i].entries, how.rounds);
        CHECK_EQ(e[i].failures, 0);
        CHECK(link_load(e[i].link).is_shm == is_shm);
    }
    ends_close(e);
}

/* A test of uring and link through both carriers. */
LINK_TEST(two_threads_that_spin_are_served)
{
    run_halves(is_shm, (struct half){.length = 100, .rounds = 3000, .ahead = 1});
}

/* Between any two messages. */
LINK_TEST(two_threads_that_sleep_are_woken)
{
    run_halves(is_shm, (struct half){.sleeps = true, .length = 3, .rounds = 3000, .ahead = 1});
}

/* The room of a socket, or of the memory, is less than what is on its way. */
LINK_TEST(thread_that_waits_for_room_is_woken)
{
    run_halves(is_shm, (struct half){.sleeps = true, .length = 20000, .rounds = 400, .ahead = 12});
}

/* ---- the end --------------------------------------------------------------------------------- */

static void *start_and_leave(void *context)
{
    struct end *e = context;
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    for (uint64_t tag = 0; e->link->queued_bytes < LINK_CREDIT_BYTES; tag++)
        CHECK(ends_put(e->link, tag, 1000));
    end_turn(e);
    end_wait(e, now_ns() + SECOND / 1000);
    return NULL;
}

/* In the middle of everything, on the ring's own thread or when that has ended; the peer sees the
 * end at once. */
TEST(uring, closes_at_any_time)
{
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        struct facing f;
        pthread_t thread;
        facing_open(&f, (struct ends_how){0});
        if (i % 3 == 0) {
            CHECK(!pthread_create(&thread, NULL, start_and_leave, &f.end));
            pthread_join(thread, NULL);
        } else if (i % 3 == 1) {
            start_and_leave(&f.end);
            uring_stop(f.end.uring);
        } else if (i % 2 == 0) {
            start_and_leave(&f.end);
        }
        uring_fini(f.end.uring);
        char rest[65536];
        ssize_t n;
        while ((n = recv(f.fd, rest, sizeof rest, 0)) > 0) continue;
        CHECK_EQ(n, 0);
        close(f.fd);
    }
    CHECK_EQ(open_descriptors(), before);
}
