/*
 * A peer that does not read for a while costs its senders time, not memory: who floods a
 * stopped node with more than fits anywhere waits; the same when it is the answers that do not
 * arrive. Afterwards everything goes on, and nothing was lost.
 */
#include "namespaces.h"
#include "team.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call moves 8 MiB, the half of the table, to or from the other node: all of them are much more
 * than may grow. */
enum { ROWS = 4096, LENGTH = IS_SANITIZED ? 128 : 1024, CALLS = 12, GROWTH_MAX_KB = 12 << 10 };
static const struct locus_table table = {.rows = ROWS, .length = LENGTH};

struct flood {
    locus *node;
    locus_worker *worker;
    size_t n;
    locus_key keys[ROWS]; /* of the other node */
    float *values;
    bool is_pull;
    int pushes; /* so far, to every key */
};

static void find_keys_of_the_other(struct flood *f)
{
    static locus_key mine[ROWS];
    size_t owned = locus_owned(f->node, 0, mine, ROWS), at = 0;
    for (locus_key k = 0; k < ROWS; k++)
        if (at < owned && mine[at] == k)
            at++;
        else
            f->keys[f->n++] = k;
    f->values = calloc(f->n * LENGTH, sizeof(float));
    CHECK(f->n > ROWS / 3 && f->values);
}

/* The pulls all write the same array: what is in it before they are done is nobody's business. */
static void *flood(void *argument)
{
    struct flood *f = argument;
    locus_ticket t;
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(f->is_pull ? locus_pull_async(f->worker, f->keys, f->n, f->values, &t)
                            : locus_push_async(f->worker, f->keys, f->n, f->values, &t),
                 0);
    CHECK_EQ(locus_wait_all(f->worker), 0);
    parent_tell("done");
    return NULL;
}

static void fill(struct flood *f, float value)
{
    for (size_t i = 0; i < f->n * LENGTH; i++) f->values[i] = value;
}

/* Writes and reads everything once, so that what memory it needs is there. */
static void warm(struct flood *f)
{
    find_keys_of_the_other(f);
    fill(f, 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(locus_push(f->worker, f->keys, f->n, f->values), 0);
        CHECK_EQ(locus_pull(f->worker, f->keys, f->n, f->values), 0);
        fill(f, 1);
    }
    CHECK_EQ(locus_barrier(f->worker), 0);
}

static void check_values(struct flood *f, float expected)
{
    CHECK_EQ(locus_pull(f->worker, f->keys, f->n, f->values), 0);
    for (size_t i = 0; i < f->n * LENGTH; i++) CHECK(f->values[i] == expected);
}

/* Commands of the parent: push, pull (both go on beside the next commands), size, end. */
static void obey(struct flood *f)
{
    char line[LINE_BYTES];
    pthread_t thread;
    bool is_flooding = false;
    CHECK(parent_hear(line));
    while (strcmp(line, "end") != 0) {
        if (strcmp(line, "size") == 0) {
            parent_tell("%ld", footprint_now().resident_kb);
        } else {
            f->is_pull = strcmp(line, "pull") == 0;
            f->pushes += f->is_pull ? 0 : CALLS;
            is_flooding = true;
            CHECK_EQ(pthread_create(&thread, NULL, flood, f), 0);
        }
        CHECK(parent_hear(line));
    }
    if (is_flooding) pthread_join(thread, NULL);
}

ROLE(stall_node)
{
    static struct flood f;
    int rank;
    char listen[ADDRESS_BYTES];
    struct team t = {TEAM_OF(2, 1, 2, LOCUS_STATIC, &table, 1), .peer_timeout_s = 30};
    CHECK_EQ(sscanf(arguments, "%d %31s %31s", &rank, t.address, listen), 3);
    if (*listen != '-') t.listen = listen;
    f.node = team_open(&t, rank);
    f.worker = worker_of(f.node);
    warm(&f);
    parent_tell("ready");
    obey(&f);
    check_values(&f, (float)(2 + f.pushes));
    CHECK_EQ(locus_barrier(f.worker), 0);
    free(f.values);
    CHECK_EQ(locus_worker_close(f.worker), 0);
    CHECK_EQ(locus_close(f.node), 0);
}

static long size_of(struct child *c)
{
    child_tell(c, "size");
    return strtol(child_hear(c), NULL, 10);
}

static void check_growth(struct child *c, long before)
{
    long now = size_of(c);
    if (!IS_SANITIZED && now - before > GROWTH_MAX_KB)
        test_fail(__FILE__, __LINE__, "memory grew by %ld MB while the peer did not read",
                  (now - before) >> 10);
    CHECK(!child_has_spoken(c)); /* it is not done: it waits */
}

/* How long the peer does not read: long enough to take in all that fits, far below the time-out. */
#define STALL_S 1.0

/* Node 0 floods node 1, which is stopped; or what node 1 says to it stalls in the network. */
static void check_flood(const char *what, bool is_stopped)
{
    struct namespaces s = {.count = 0};
    struct child c[2];
    long before[2];
    char address[ADDRESS_BYTES], listen[ADDRESS_BYTES] = "-";
    address_new(address);
    if (!is_stopped) namespaces_open(&s, 2);
    if (!is_stopped) namespaces_rendezvous(address);
    for (int i = 0; i < 2; i++) {
        if (!is_stopped) namespaces_address(i, listen);
        if (!is_stopped) namespaces_enter(&s, i);
        child_start(&c[i], "stall_node", "%d %s %s", i, address, listen);
    }
    if (!is_stopped) namespaces_leave(&s);
    for (int i = 0; i < 2; i++) child_expect(&c[i], "ready");
    for (int i = 0; i < 2; i++) before[i] = size_of(&c[i]);
    if (is_stopped)
        child_signal(&c[1], SIGSTOP);
    else
        namespaces_stall(&s, 1, 0, true);
    child_tell(&c[0], what);
    sleep_s(STALL_S);
    for (int i = 0; i < (is_stopped ? 1 : 2); i++) check_growth(&c[i], before[i]);
    if (is_stopped)
        child_signal(&c[1], SIGCONT);
    else
        namespaces_stall(&s, 1, 0, false);
    child_expect(&c[0], "done");
    for (int i = 0; i < 2; i++) child_tell(&c[i], "end");
    for (int i = 0; i < 2; i++) child_wait(&c[i]);
    if (!is_stopped) namespaces_close(&s);
}

TEST(stall, push_to_and_pull_from_a_stopped_node_wait_and_do_not_grow)
{
    check_flood("push", true);
    check_flood("pull", true);
}

TEST(stall, acknowledgements_that_cannot_leave_do_not_grow)
{
    check_flood("push", false);
}

TEST(stall, rows_that_cannot_leave_do_not_grow_at_their_owner)
{
    check_flood("pull", false);
}
