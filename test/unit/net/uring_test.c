/* The ring: sleep and wake-up, threads, and the end. */
#include "net/ends.h"
#include "test.h"
#include "locus.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- sleep and wake-up ----------------------------------------------------------------------- */

TEST(uring, sleeps_until_it_is_told)
{
    struct end e;
    int fd = end_open_to_socket(&e);
    end_turn(&e);
    uint64_t start = now_ns();
    for (int i = 0; i < 3; i++) end_wait(e.uring, start + SECOND / 10);
    CHECK(now_ns() >= start + SECOND / 10);
    CHECK(now_ns() < start + 30 * SECOND);
    end_close(&e, fd);
}

TEST(uring, does_not_sleep_when_something_has_come_or_failed)
{
    struct end e;
    uint64_t bytes[64], start = now_ns();
    int fd = end_open_to_socket(&e);
    end_turn(&e);
    ends_say(fd, bytes, ends_frame(bytes, 0, 0, 1, 1));
    while (e.entries == 0) {
        end_wait(e.uring, start + 60 * SECOND);
        uring_poll(e.uring, now_ns());
    }
    while (ends_put(e.link, 0, 1000)) {
    } /* fails in the end */
    while (e.failures == 0) {
        end_wait(e.uring, start + 60 * SECOND);
        uring_poll(e.uring, now_ns());
    }
    CHECK(now_ns() < start + 30 * SECOND);
    end_close(&e, fd);
}

TEST(uring, ends_the_next_sleep_when_it_is_woken_before)
{
    struct end e;
    uint64_t start = now_ns();
    int fd = end_open_to_socket(&e);
    end_turn(&e);
    uring_wake(e.uring);
    uring_wake(e.uring);
    end_wait(e.uring, start + 60 * SECOND);
    CHECK(uring_poll(e.uring, now_ns()) > 0);
    CHECK(now_ns() < start + 30 * SECOND);
    end_close(&e, fd);
}

enum { WAKES = 100000 };

struct bell {
    struct uring *uring;
    uint64_t rung, heard; /* shared */
};

/* Rings, and waits until it was heard: a wake-up that gets lost stops everything. */
static void *ring_the_bell(void *context)
{
    struct bell *b = context;
    unsigned seed = 9;
    for (uint64_t i = 1; i <= WAKES; i++) {
        __atomic_store_n(&b->rung, i, __ATOMIC_RELEASE);
        uring_wake(b->uring);
        for (int k = rand_r(&seed) % 300; k > 0; k--) __atomic_load_n(&b->heard, __ATOMIC_RELAXED);
        if (rand_r(&seed) % 4) continue;
        while (__atomic_load_n(&b->heard, __ATOMIC_ACQUIRE) < i) sched_yield();
    }
    return NULL;
}

TEST(uring, loses_no_wake_up)
{
    struct end e;
    pthread_t ringer;
    int fd = end_open_to_socket(&e);
    struct bell b = {.uring = e.uring};
    CHECK(!pthread_create(&ringer, NULL, ring_the_bell, &b));
    for (uint64_t heard = 0; heard < WAKES;) {
        uint64_t before = now_ns();
        if (uring_poll(e.uring, before) == 0) end_wait(e.uring, before + 20 * SECOND);
        CHECK(now_ns() - before < 10 * SECOND);
        heard = __atomic_load_n(&b.rung, __ATOMIC_ACQUIRE);
        __atomic_store_n(&b.heard, heard, __ATOMIC_RELEASE);
    }
    pthread_join(ringer, NULL);
    end_close(&e, fd);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { ROUNDS = 3000 };

struct half {
    int fd;
    struct end end;
    bool asks, sleeps;
};

static void rest(struct half *h)
{
    if (h->sleeps) {
        end_wait(h->end.uring, now_ns() + SECOND);
    } else {
        uring_submit(h->end.uring);
        sched_yield(); /* where the two share a core each round would take a slice */
    }
}

static void *run_half(void *context)
{
    struct half *h = context;
    struct end *e = &h->end;
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    e->echoes = !h->asks;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (h->asks) ends_put(e->link, i, 100);
        link_flush(e->link);
        while (e->entries <= i && e->failures == 0) {
            rest(h);
            uring_poll(e->uring, now_ns());
            uring_tick(e->uring, now_ns());
        }
    }
    link_bye(e->link);
    while (!link_is_drained(e->link) || !link_peer_is_gone(e->link)) {
        rest(h);
        uring_poll(e->uring, now_ns());
    }
    return NULL;
}

/* The rings are opened here, used there, and closed here when that thread has ended. */
static void run_halves(bool sleeps)
{
    int fd[2];
    pthread_t thread[2];
    struct half half[2] = {{.asks = true, .sleeps = sleeps}, {.sleeps = sleeps}};
    ends_connect(fd);
    for (int i = 0; i < 2; i++) {
        end_open_by(&half[i].end, fd[i], 0, 10, 0);
        CHECK(!pthread_create(&thread[i], NULL, run_half, &half[i]));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        CHECK_EQ(half[i].end.entries, ROUNDS);
        CHECK_EQ(half[i].end.failures, 0);
        uring_fini(half[i].end.uring);
    }
}

TEST(uring, serves_two_threads_that_spin)
{
    run_halves(false);
}

TEST(uring, serves_two_threads_that_sleep)
{
    run_halves(true);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int open_descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

static void *start_and_leave(void *context)
{
    struct end *e = context;
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    for (uint64_t tag = 0; e->link->queued_bytes < LINK_CREDIT_BYTES; tag++)
        CHECK(ends_put(e->link, tag, 1000));
    end_turn(e);
    end_wait(e->uring, now_ns() + SECOND / 1000);
    return NULL;
}

/* In the middle of everything, on the ring's own thread or when that has ended; the peer sees the
 * end at once. */
TEST(uring, closes_at_any_time)
{
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        int fd[2];
        struct end e;
        pthread_t thread;
        ends_connect(fd);
        end_open_by(&e, fd[0], 0, 10, 0);
        if (i % 3 == 0) {
            CHECK(!pthread_create(&thread, NULL, start_and_leave, &e));
            pthread_join(thread, NULL);
        } else if (i % 3 == 1) {
            start_and_leave(&e);
            uring_stop(e.uring);
        } else if (i % 2 == 0) {
            start_and_leave(&e);
        }
        uring_fini(e.uring);
        char rest[65536];
        ssize_t n;
        while ((n = recv(fd[1], rest, sizeof rest, 0)) > 0) {
        }
        CHECK_EQ(n, 0);
        close(fd[1]);
    }
    CHECK_EQ(open_descriptors(), before);
}

TEST(uring, says_which_limit_is_too_low)
{
    struct rlimit limit;
    struct uring *u = (void *)1;
    const struct link_events events = {NULL, end_on_frame, end_on_failed, NULL};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t before = limit.rlim_cur;
    int next = dup(STDERR_FILENO);
    close(next);
    limit.rlim_cur = (rlim_t)next; /* for the wake-up it is one too few, then for the ring */
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10, 0), -EMFILE);
    CHECK(!u);
    CHECK_STR(locus_error(), "`ulimit -n`");
    limit.rlim_cur++;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10, 0), -EMFILE);
    CHECK_STR(locus_error(), "`ulimit -n`");
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(uring_init(&u, &events, NODES, 0, 10, 0), 0);
    uring_fini(u);
    uring_fini(NULL);
}
