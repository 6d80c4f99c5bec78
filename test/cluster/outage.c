/*
 * Cables that are pulled: nodes in network namespaces of their own on a bridge, each with a cable
 * that goes down and comes up again. An outage that is shorter than the time-out by more than a
 * second is survived, whoever it hits; after a longer one all that can still hear each other name
 * the node that was cut off.
 *
 * Every node is a process in the role `citizen`, which enters its namespace before anything else.
 */
#include "cables.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES = 4, KEYS = 200, LENGTH = 20, NETWORKS = 4, OUTAGES = 5 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* ---- a citizen ---- */

static int must_stop; /* atomic */

static void *await_word(void *unused)
{
    char line[LINE_BYTES];
    (void)unused;
    parent_hear(line);
    __atomic_store_n(&must_stop, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Something for every link, all the time. */
static int work(locus_worker *w)
{
    locus_key keys[KEYS];
    static float row[KEYS * LENGTH];
    int rc = 0;
    for (locus_key k = 0; k < KEYS; k++) keys[k] = k;
    while (rc == 0 && !__atomic_load_n(&must_stop, __ATOMIC_ACQUIRE)) {
        rc = locus_pull(w, keys, KEYS, row);
        if (rc == 0) rc = locus_push(w, keys, KEYS, row);
        sleep_s(0.01);
    }
    return rc;
}

ROLE(citizen)
{
    struct team t = {TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, &table, 1)};
    char host[64];
    pthread_t thread;
    int rank;
    CHECK_EQ(sscanf(arguments, "%63s %d %lf", host, &rank, &t.peer_timeout_s), 3);
    cables_config(host, &t, rank);
    locus *node = team_open(&t, rank);
    locus_worker *w = worker_of(node);
    parent_tell("open");
    CHECK_EQ(pthread_create(&thread, NULL, await_word, NULL), 0);
    int rc = work(w);
    if (rc) {
        CHECK_EQ(rc, -ECONNRESET);
        parent_tell("lost: %s", locus_error());
    }
    pthread_join(thread, NULL);
    if (rc == 0) CHECK_EQ(locus_barrier(w), 0);
    locus_worker_close(w);
    CHECK_EQ(locus_close(node), rc ? -ECONNRESET : 0);
    parent_tell("closed");
}

/* ---- networks ---- */

struct network {
    struct cables cables;
    struct child node[NODES];
    int victim;
    double down_s, up_s; /* when its cable went down, and when it comes up again */
};

static struct network network[NETWORKS];

static void open_networks(int count, double timeout_s)
{
    cables_need();
    for (int i = 0; i < count; i++) cables_lay(&network[i].cables, NODES);
    for (int i = 0; i < count; i++)
        for (int n = 0; n < NODES; n++)
            child_start(&network[i].node[n], "citizen", "%s %d %g",
                        cables_host(&network[i].cables, n), n, timeout_s);
    for (int i = 0; i < count; i++)
        for (int n = 0; n < NODES; n++) child_expect(&network[i].node[n], "open");
}

static void close_networks(int count)
{
    for (int i = 0; i < count; i++)
        for (int n = 0; n < NODES; n++) child_tell(&network[i].node[n], "end");
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < NODES; n++) {
            child_expect(&network[i].node[n], "closed");
            child_wait(&network[i].node[n]);
        }
        cables_remove(&network[i].cables);
    }
}

/* ---- outages ---- */

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/* Without it an outage is survived only as silence.h says. */
static bool retries_can_be_bounded(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), ms = 1000;
    bool can = setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, sizeof ms) == 0;
    close(fd);
    return can;
}

/* By how much threads that sleep are woken too late here: heartbeats come as late. */
static struct {
    pthread_t thread;
    int is_over; /* atomic */
    double most_s;
} lateness;

static void *measure_lateness(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&lateness.is_over, __ATOMIC_ACQUIRE)) {
        double due_s = now_s() + 0.01;
        sleep_s(0.01);
        double late_s = now_s() - due_s;
        if (late_s > lateness.most_s) lateness.most_s = late_s;
    }
    return NULL;
}

/* Returns the longest outage that there was: a busy machine is slow to end one. */
static double cut_all(struct seat *dice, double most_s)
{
    double longest_s = 0;
    for (int i = 0; i < NETWORKS; i++) {
        struct network *net = &network[i];
        double length_s = 0.5 + (most_s - 0.5) * seat_random(dice, 1001) / 1000;
        net->victim = (int)seat_random(dice, NODES);
        printf("network %d: node %d is cut off for %.2f s\n", i, net->victim, length_s);
        net->down_s = now_s();
        cables_pull(&net->cables, net->victim, true);
        net->up_s = net->down_s + length_s;
    }
    for (int left = NETWORKS; left > 0; sleep_s(0.01))
        for (int i = 0; i < NETWORKS; i++) {
            if (network[i].up_s == 0 || now_s() < network[i].up_s) continue;
            cables_pull(&network[i].cables, network[i].victim, false);
            network[i].up_s = 0;
            left--;
            double length_s = now_s() - network[i].down_s;
            if (length_s > longest_s) longest_s = length_s;
        }
    return longest_s;
}

/* A loss, unless this machine does not let us say what is survived. */
static void is_survived(struct network *net, double too_long_s)
{
    for (int n = 0; n < NODES; n++) {
        if (!child_has_spoken(&net->node[n])) continue;
        const char *said = child_hear(&net->node[n]);
        __atomic_store_n(&lateness.is_over, 1, __ATOMIC_RELEASE);
        pthread_join(lateness.thread, NULL);
        if (too_long_s > 0 || lateness.most_s > 0.03) {
            printf("node %d: %s\n", n, said);
            printf("too busy: an outage was too long by %.2f s, and threads were late by %.2f s\n",
                   too_long_s, lateness.most_s);
            for (int i = 0; i < NETWORKS; i++) cables_remove(&network[i].cables);
            SKIP("this machine is too busy to end an outage, or to send heartbeats, in time");
        }
        test_fail(__FILE__, __LINE__, "node %d: %s", n, said);
    }
}

TEST(outage, shorter_than_the_timeout_is_survived)
{
    const double timeout_s = 6;
    struct seat dice = {.seed = 1};
    if (!retries_can_be_bounded())
        SKIP("this kernel does not bound TCP's retries (TCP_RTO_MAX_MS, Linux 6.15)");
    open_networks(NETWORKS, timeout_s);
    CHECK_EQ(pthread_create(&lateness.thread, NULL, measure_lateness, NULL), 0);
    for (int round = 0; round < (IS_SANITIZED ? 2 : OUTAGES); round++) {
        double longest_s = cut_all(&dice, timeout_s - 1.2);
        sleep_s(2.5); /* all are heard again */
        for (int i = 0; i < NETWORKS; i++) is_survived(&network[i], longest_s - (timeout_s - 1.1));
    }
    __atomic_store_n(&lateness.is_over, 1, __ATOMIC_RELEASE);
    pthread_join(lateness.thread, NULL);
    close_networks(NETWORKS);
}

/* Everybody hears rank 0, and all name the same one of the two. */
TEST(outage, between_two_nodes_is_blamed_on_one_of_them)
{
    enum { COUNT = 2, A = 1, B = 3 };
    char said[1024];
    open_networks(COUNT, 4);
    for (int i = 0; i < COUNT; i++) {
        cables_lose(&network[i].cables, A, B, true);
        if (i == 0) cables_lose(&network[i].cables, B, A, true);
    }
    for (int i = 0; i < COUNT; i++)
        for (int n = 0; n < NODES; n++) {
            const char *word = child_hear(&network[i].node[n]);
            if (n == 0) {
                snprintf(said, sizeof said, "%s", word);
                printf("network %d: %s\n", i, said);
                CHECK(strncmp(said, "lost: node 1 ", 13) == 0 ||
                      strncmp(said, "lost: node 3 ", 13) == 0);
            }
            CHECK_STR(word, said);
        }
    close_networks(COUNT);
}

/* The four networks have one victim each, so rank 0 is one. What the victim itself says is not
 * looked at: to it all others are gone. */
TEST(outage, longer_than_the_timeout_is_blamed_on_who_was_cut_off)
{
    char name[32];
    open_networks(NETWORKS, 4);
    for (int i = 0; i < NETWORKS; i++) {
        network[i].victim = i;
        cables_pull(&network[i].cables, network[i].victim, true);
    }
    for (int i = 0; i < NETWORKS; i++) {
        snprintf(name, sizeof name, "lost: node %d ", i);
        for (int n = 0; n < NODES; n++)
            if (n != i) child_expect(&network[i].node[n], name);
    }
    for (int i = 0; i < NETWORKS; i++) {
        cables_pull(&network[i].cables, network[i].victim, false);
        child_expect(&network[i].node[i], "lost: node ");
    }
    close_networks(NETWORKS);
}
