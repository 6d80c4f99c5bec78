/*
 * staleness_s: no replica answers whose owner was not heard of for longer, and who pulls one waits
 * for the owner. The owner here is a process that is stopped, goes on, and is killed at last.
 */
#include "team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { ROWS = 64, LENGTH = 4 };
#define BOUND_S 0.5
static const struct locus_table table = {.rows = ROWS, .length = LENGTH};

static struct team team_of_two(const char *arguments, int *rank)
{
    struct team t = {TEAM_OF(2, 1, 0, LOCUS_ADAPTIVE, &table, 1), .peer_timeout_s = HANG_S,
                     .staleness_s = BOUND_S};
    int technique;
    CHECK_EQ(sscanf(arguments, "%d %d %u %31s", rank, &technique, &t.shards, t.address), 4);
    t.technique = (enum locus_technique)technique;
    return t;
}

/* Has all rows of its own at 1, and does nothing more. */
ROLE(staleness_owner)
{
    int rank;
    char line[LINE_BYTES];
    struct team t = team_of_two(arguments, &rank);
    locus *n = team_open(&t, rank);
    locus_worker *w = worker_of(n);
    locus_key keys[ROWS];
    float ones[ROWS * LENGTH];
    size_t owned = locus_owned(n, 0, keys, ROWS);
    for (size_t i = 0; i < ROWS * LENGTH; i++) ones[i] = 1;
    CHECK_EQ(locus_push(w, keys, owned, ones), 0);
    CHECK_EQ(locus_quiesce(w), 0);
    parent_tell("ready");
    while (parent_hear(line)) {
    }
}

struct reader {
    locus *node;
    locus_worker *worker;
    locus_key key; /* the other node's: a replica here */
    locus_key own;
};

/* What a replica says to who asks no owner. */
static int look(struct reader *r)
{
    float row[LENGTH];
    int rc = locus_pull_local(r->worker, r->key, row);
    locus_read_begin(r->worker);
    if (rc == -EAGAIN)
        CHECK(!locus_view(r->worker, r->key) || locus_pull_local(r->worker, r->key, row) == 0);
    locus_read_end(r->worker);
    return rc;
}

static void open_reader(struct reader *r, const struct team *t, int rank)
{
    locus_key mine[ROWS];
    r->node = team_open(t, rank);
    r->worker = worker_of(r->node);
    size_t owned = locus_owned(r->node, 0, mine, ROWS);
    CHECK(owned > 0 && owned < ROWS);
    r->own = mine[0];
    for (size_t i = 0; i < owned && mine[i] == r->key; i++) r->key++;
    CHECK_EQ(locus_intent(r->worker, &r->key, 1, 0, LOCUS_FOREVER), 0);
    CHECK_EQ(locus_quiesce(r->worker), 0);
}

/* The first pull may be served by what came before the owner stopped, and was not looked at. No
 * owner is asked for what is here. */
static locus_ticket pull_that_waits(struct reader *r, float row[LENGTH])
{
    const float ones[LENGTH] = {1, 1, 1, 1};
    float other[LENGTH];
    double end = now_s() + HANG_S;
    for (;;) {
        locus_ticket ticket;
        AWAIT(look(r) == -EAGAIN);
        CHECK_EQ(locus_pull_async(r->worker, &r->key, 1, row, &ticket), 0);
        CHECK_EQ(locus_push(r->worker, &r->own, 1, ones), 0);
        CHECK_EQ(locus_pull(r->worker, &r->own, 1, other), 0);
        sleep_s(0.05);
        if (!locus_done(r->worker, ticket)) return ticket;
        CHECK(now_s() < end);
    }
}

ROLE(staleness_reader)
{
    int rank;
    char line[LINE_BYTES];
    struct reader r = {.key = 0};
    const float ones[LENGTH] = {1, 1, 1, 1};
    float row[LENGTH];
    struct team t = team_of_two(arguments, &rank);
    open_reader(&r, &t, rank);
    AWAIT(look(&r) == 0);
    parent_tell("reads");
    CHECK(parent_hear(line)); /* it is stopped */
    locus_ticket ticket = pull_that_waits(&r, row);
    parent_tell("waits");
    CHECK_EQ(locus_wait(r.worker, ticket), 0); /* it goes on */
    CHECK(row[0] == 1 && row[LENGTH - 1] == 1);
    AWAIT(look(&r) == 0); /* and says by itself that it lives */
    CHECK_EQ(locus_push(r.worker, &r.key, 1, ones), 0);
    parent_tell("reads");
    CHECK(parent_hear(line));
    ticket = pull_that_waits(&r, row);
    parent_tell("waits");
    int rc = locus_wait(r.worker, ticket);
    while (rc == 0) rc = locus_pull(r.worker, &r.key, 1, row); /* what was read late serves once */
    CHECK_EQ(rc, -ECONNRESET);                                 /* it is lost */
    CHECK_STR(locus_error(), "node 1 (");
    locus_worker_close(r.worker);
    CHECK_EQ(locus_close(r.node), -ECONNRESET);
}

/* Nothing that it says is sent any more when this returns. */
static void stop(const struct child *c)
{
    siginfo_t info;
    child_signal(c, SIGSTOP);
    CHECK_EQ(waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOWAIT), 0);
}

static void stop_and_kill(enum locus_technique technique, unsigned shards)
{
    char address[ADDRESS_BYTES];
    struct child reader, owner;
    address_new(address);
    child_start(&reader, "staleness_reader", "0 %d %u %s", technique, shards, address);
    child_start(&owner, "staleness_owner", "1 %d %u %s", technique, shards, address);
    child_expect(&owner, "ready");
    child_expect(&reader, "reads");
    stop(&owner);
    child_tell(&reader, "stopped");
    child_expect(&reader, "waits");
    child_signal(&owner, SIGCONT);
    child_expect(&reader, "reads");
    stop(&owner);
    child_tell(&reader, "stopped");
    child_expect(&reader, "waits");
    child_kill(&owner);
    child_wait(&reader);
}

TEST(staleness, replica_of_a_stopped_owner_does_not_answer)
{
    stop_and_kill(LOCUS_ADAPTIVE, 2);
    stop_and_kill(LOCUS_FULL_REPLICATION, 1);
}
