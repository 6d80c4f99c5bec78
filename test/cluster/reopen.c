/* Clusters open and close at one address, again and again, each as soon as its own locus_close has
 * returned: all join every time, and nothing is left behind. */
#include "common/folder.h"
#include "common/port.h"
#include "worker/node.h"
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct locus_table table = {.rows = 100, .length = 8};

/* A hundred in a usual check; a thousand with LOCUS_TEST_SECONDS of 50, or 125 with a sanitizer. */
static int cycles(void)
{
    return (IS_SANITIZED ? 8 : 20) * test_seconds();
}

#define TEAM(nodes) TEAM_OF(nodes, 2, 2, LOCUS_STATIC, &table, 1)

/* Everybody writes everywhere, so that what is measured has been used. */
static void push_all(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    seat_barrier(s);
    CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
}

/* ---- footprints ---- */

enum { WARM = 10 }; /* cycles after which nothing may grow */

/* After the first cycles, and in the middle of the others. */
struct growth {
    struct footprint warm, middle;
};

/* Before each of `count` cycles. */
static void growth_look(struct growth *g, int cycle, int count)
{
    if (cycle == WARM) g->warm = footprint_now();
    if (cycle == (WARM + count) / 2) g->middle = footprint_now();
}

/* A thread that was joined, and a connection that nng closes behind us, may show for a moment yet.
 * Memory that leaks grows all the time; the kernel's pages, which may be large ones, come at any
 * time, but once. */
static void growth_check(const struct growth *g)
{
    enum { RESIDENT_KB = 2048 };
    struct footprint now = footprint_now();
    const struct footprint *before = &g->warm;
    for (double end = now_s() + HANG_S; now_s() < end; now = footprint_now()) {
        if (now.descriptors <= before->descriptors && now.threads <= before->threads) break;
        sleep_s(0.05);
    }
    if (now.descriptors > before->descriptors || now.threads > before->threads)
        test_fail(__FILE__, __LINE__, "%ld descriptors and %ld threads, and %ld and %ld before",
                  now.descriptors, now.threads, before->descriptors, before->threads);
    if (IS_SANITIZED || g->middle.resident_kb <= before->resident_kb + RESIDENT_KB) return;
    if (now.resident_kb > g->middle.resident_kb + RESIDENT_KB)
        test_fail(__FILE__, __LINE__, "memory grew from %ld to %ld and to %ld KB",
                  before->resident_kb, g->middle.resident_kb, now.resident_kb);
}

/* ---- other ranks every time: the next rank 0 may come while the last one still leaves ---- */

ROLE(reopen_node)
{
    int place;
    struct team t = {TEAM(0)};
    CHECK_EQ(sscanf(arguments, "%d %d %31s", &place, &t.nodes, t.address), 3);
    struct growth growth = {0};
    int count = WARM + cycles() / 2;
    for (int i = 0; i < count; i++) {
        growth_look(&growth, i, count);
        team_run_node(&t, (place + i) % t.nodes, push_all);
    }
    growth_check(&growth);
}

TEST(reopen, by_processes_that_change_their_ranks_leaves_nothing)
{
    char address[ADDRESS_BYTES];
    struct child c[3];
    address_new(address);
    for (int i = 0; i < 3; i++) child_start(&c[i], "reopen_node", "%d 3 %s", i, address);
    for (int i = 0; i < 3; i++) child_wait(&c[i]);
}

/* ---- all nodes in one process ---- */

TEST(reopen, by_nodes_of_one_process_leaves_nothing)
{
    struct growth growth = {0};
    struct team t = {TEAM(3)};
    address_new(t.address);
    int count = WARM + cycles() / 4;
    for (int i = 0; i < count; i++) {
        growth_look(&growth, i, count);
        team_run(&t, push_all);
    }
    growth_check(&growth);
}

/* ---- opening that fails ---- */

TEST(reopen, after_open_failed_leaves_nothing)
{
    static const enum locus_technique techniques[] = {LOCUS_STATIC, LOCUS_ADAPTIVE};
    struct growth growth = {0};
    struct team t = {TEAM(2)};
    address_new(t.address);
    for (int i = 0; i < 6 * WARM; i++) {
        struct locus_config c = team_config(&t, i / 2 % 2);
        locus *n;
        growth_look(&growth, i / 2, 3 * WARM);
        c.technique = techniques[i % 2];
        c.join_timeout_s = 0.05;
        CHECK_EQ(locus_open(&c, &n), -ETIMEDOUT);
        CHECK(n == NULL);
    }
    growth_check(&growth);
}

/* ---- memory that is refused ---- */

/* Of this thread: how many may be had until one is refused; 0: all. */
static _Thread_local unsigned left;

static bool is_refused(void)
{
    return left > 0 && --left == 0;
}

#define REFUSES(type, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (!is_refused()) return __real_##name(__VA_ARGS__); \
        errno = ENOMEM; \
        return NULL; \
    }
REFUSES(void *, malloc, (size_t n), n)
REFUSES(void *, calloc, (size_t n, size_t each), n, each)
REFUSES(void *, realloc, (void *old, size_t n), old, n)
REFUSES(void *, aligned_alloc, (size_t to, size_t n), to, n)

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t n, int may, int flags, int fd, off_t from)
{
    if (!is_refused()) return __real_mmap(at, n, may, flags, fd, from);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* Opens with the next allocation refused that was not yet; false: all have been. Where it does not
 * matter, the node opens all the same. */
static bool open_refused(const struct locus_config *c, unsigned at, locus **out)
{
    left = at;
    int rc = locus_open(c, out);
    bool was_refused = left == 0;
    left = 0;
    if (rc == 0) return was_refused;
    if (!*locus_error() || *out || (rc != -ENOMEM && rc != -ECONNRESET))
        test_fail(__FILE__, __LINE__, "allocation %u refused: %d, %s", at, rc, locus_error());
    return true;
}

/* The same for a worker, which afterwards never was. */
static void open_worker_refused(locus *n)
{
    for (unsigned at = 1;; at++) {
        locus_worker *w;
        left = at;
        int rc = locus_worker_open(n, &w);
        bool was_refused = left == 0;
        left = 0;
        if (rc == 0) CHECK_EQ(locus_worker_close(w), 0);
        if (rc == 0 && !was_refused) return;
        CHECK(was_refused && (rc == 0 || rc == -ENOMEM) && !w == (rc != 0));
        if (rc) CHECK(*locus_error() && n->collective.place[0] == PLACE_NEVER_OPENED);
        if (rc) CHECK(n->worker[0].progress == 0 && n->worker[0].stream == NULL);
    }
}

static void observe_all(void)
{
    char port[16], folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    snprintf(port, sizeof port, "%d", port_new_row(2));
    CHECK_EQ(setenv("LOCUS_METRICS", port, 1) | setenv("LOCUS_REPORT", folder, 1), 0);
}

TEST(reopen, after_each_allocation_was_refused_works)
{
    struct team t = {TEAM(1)};
    struct locus_config c = team_config(&t, 0);
    locus *n;
    observe_all();
    for (unsigned at = 1; open_refused(&c, at, &n); at++)
        if (n) CHECK_EQ(locus_close(n), 0);
    open_worker_refused(n);
    CHECK_EQ(locus_close(n), 0);
}

/* The other node, which joins anew as often as it is left alone. */
static void *join_at_last(void *config)
{
    locus *n;
    for (int rc = -1; rc;) {
        rc = locus_open(config, &n);
        if (rc == 0) rc = locus_close(n);
        CHECK(rc == 0 || rc == -ECONNRESET);
    }
    return NULL;
}

/* False: nothing was refused any more. Who joins before rank 0 listens tries again, which nobody
 * counts. */
static bool join_refused(struct team *t, int rank, unsigned at)
{
    pthread_t thread;
    locus *n;
    address_new(t->address);
    struct locus_config ours = team_config(t, rank), others = team_config(t, 1 - rank);
    CHECK_EQ(pthread_create(&thread, NULL, join_at_last, &others), 0);
    for (int fd = -1; rank == 1 && fd < 0; sleep_s(0.001))
        if ((fd = address_dial(t->address)) >= 0) close(fd);
    bool was_refused = open_refused(&ours, at, &n);
    while (!n && locus_open(&ours, &n)) continue;
    if (!was_refused) open_worker_refused(n);
    CHECK_EQ(locus_close(n), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return was_refused;
}

/* Rank 0 until it has joined: from then on both do the same, and who hears of its end waits for a
 * second whether there was a reason. Without a sanitizer, of the other each third. */
TEST(reopen, in_a_cluster_after_each_allocation_was_refused_works)
{
    enum { BEFORE_JOINING = 16 };
    struct team t = {TEAM_OF(2, 1, 1, LOCUS_ADAPTIVE, &table, 1)};
    observe_all();
    for (unsigned at = 1; at < BEFORE_JOINING; at++) CHECK(join_refused(&t, 0, at));
    for (unsigned at = 1; join_refused(&t, 1, at); at += IS_SANITIZED ? 1 : 3) continue;
}
