/*
 * Nodes on hosts of their own: network namespaces on a bridge, each with a cable that can be pulled,
 * or that loses what is sent to one of the others. An outage that is shorter than the time-out by
 * more than a second is survived, whoever it hits; after a longer one all that can still hear each
 * other name the node that was cut off. A firewall between two while the cluster forms is waited
 * for, and then named; one that drops large packets is not taken for a dead node. And a host that
 * knows its own name on loopback, as Debian sets it up, is found by that name.
 */
#include "cables.h"
#include "team.h"

#include "net/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES = 4, KEYS = 200, LENGTH = 20, NETWORKS = 4, OUTAGES = 5 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* ---- a node ---- */

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
static int work(locus_worker *w, bool pulls)
{
    locus_key keys[KEYS];
    static float row[KEYS * LENGTH];
    int rc = 0;
    for (locus_key k = 0; k < KEYS; k++) keys[k] = k;
    while (rc == 0 && !__atomic_load_n(&must_stop, __ATOMIC_ACQUIRE)) {
        rc = pulls ? locus_pull(w, keys, KEYS, row) : 0;
        if (rc == 0) rc = locus_push(w, keys, KEYS, row);
        sleep_s(0.01);
    }
    return rc;
}

/* How nodes find each other: by the address of rank 0's host, or by its name "alpha", which is
 * 127.0.1.1 in the /etc/hosts of that host, where ranks 0 and 1 are. Then they are told where to
 * listen by a secret, which opens all interfaces, or by the interface's name. */
enum found { BY_ADDRESS, BY_NAME_AND_SECRET, BY_NAME_AND_INTERFACE };

static void find_others(const char *host, struct team *t, int rank, enum found found)
{
    static char listen[ADDRESS_BYTES];
    cables_enter(host);
    snprintf(listen, sizeof listen, "10.77.0.%d", rank + 1);
    snprintf(t->address, sizeof t->address, found == BY_ADDRESS ? "10.77.0.1:7777" : "alpha:7777");
    if (found == BY_ADDRESS) t->listen = listen;
    if (found == BY_NAME_AND_INTERFACE) t->listen = "eth0";
    if (found == BY_NAME_AND_SECRET) CHECK_EQ(setenv("LOCUS_SECRET", "open sesame", 1), 0);
    if (found != BY_ADDRESS)
        cables_know(rank < 2 ? "127.0.0.1 localhost\n127.0.1.1 alpha\n"
                             : "127.0.0.1 localhost\n10.77.0.1 alpha\n");
}

/* It works until it is told to end, or until it loses another one. */
ROLE(host_node)
{
    struct team t = {TEAM_OF(0, 1, 2, LOCUS_ADAPTIVE, &table, 1)};
    char host[64];
    pthread_t thread;
    int rank, found;
    double join_timeout_s;
    locus *node;
    CHECK_EQ(sscanf(arguments, "%63s %d %d %d %lf %lf", host, &rank, &t.nodes, &found,
                    &t.peer_timeout_s, &join_timeout_s),
             6);
    find_others(host, &t, rank, (enum found)found);
    struct locus_config c = team_config(&t, rank);
    c.join_timeout_s = join_timeout_s;
    parent_tell("begins");
    int rc = locus_open(&c, &node);
    parent_tell("opened %d %s", rc, rc ? locus_error() : "");
    if (rc) return;
    locus_worker *w = worker_of(node);
    CHECK_EQ(pthread_create(&thread, NULL, await_word, NULL), 0);
    /* of two, rank 1 sends to rank 0, which waits for it */
    rc = t.nodes == 2 && rank == 0 ? locus_barrier(w) : work(w, t.nodes > 2);
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
    int nodes;
    struct child node[NODES];
    int victim;
    double down_s, up_s; /* when its cable went down, and when it comes up again */
};

static struct network network[NETWORKS];

/* Node n is on the host with that number; where names are used, ranks 0 and 1 share one. */
static void start(struct network *net, enum found found, double timeout_s, double join_timeout_s)
{
    for (int n = 0; n < net->nodes; n++) {
        int host = found == BY_ADDRESS ? n : n < 2 ? 0 : 1;
        child_start(&net->node[n], "host_node", "%s %d %d %d %g %g",
                    cables_host(&net->cables, host), n, net->nodes, (int)found, timeout_s,
                    join_timeout_s);
    }
    for (int n = 0; n < net->nodes; n++) child_expect(&net->node[n], "begins");
}

static void lay(struct network *net, int nodes)
{
    cables_need();
    net->nodes = nodes;
    cables_lay(&net->cables, nodes);
}

static void await_open(struct network *net)
{
    for (int n = 0; n < net->nodes; n++) child_expect(&net->node[n], "opened 0");
}

static void finish(struct network *net)
{
    for (int n = 0; n < net->nodes; n++) child_tell(&net->node[n], "end");
    for (int n = 0; n < net->nodes; n++) {
        child_expect(&net->node[n], "closed");
        child_wait(&net->node[n]);
    }
    cables_remove(&net->cables);
}

static void open_networks(int count, double timeout_s)
{
    for (int i = 0; i < count; i++) lay(&network[i], NODES);
    for (int i = 0; i < count; i++) start(&network[i], BY_ADDRESS, timeout_s, HANG_S);
    for (int i = 0; i < count; i++) await_open(&network[i]);
}

static void close_networks(int count)
{
    for (int i = 0; i < count; i++) finish(&network[i]);
}

/* ---- outages ---- */

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/* Without it an outage is survived only as tcp.h says. */
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

TEST(separate_hosts, outage_shorter_than_peer_timeout_is_survived)
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
TEST(separate_hosts, outage_between_two_is_blamed_on_one_of_them)
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
TEST(separate_hosts, outage_longer_than_peer_timeout_is_blamed_on_who_was_cut_off)
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

/* ---- a firewall ---- */

enum { FROM = 3, TO = 1 };

/* Packets between the two are lost while the cluster forms. Half of the time-out of silence must be
 * longer than rank 0 may not run for. */
static struct network *start_behind_a_firewall(double join_timeout_s)
{
    lay(&network[0], NODES);
    cables_lose(&network[0].cables, FROM, TO, true);
    start(&network[0], BY_ADDRESS, 4, join_timeout_s);
    return &network[0];
}

TEST(separate_hosts, firewall_between_two_that_is_opened_is_waited_for)
{
    struct network *net = start_behind_a_firewall(HANG_S);
    sleep_s(5);
    cables_lose(&net->cables, FROM, TO, false);
    await_open(net);
    finish(net);
}

/* Each of the two says what it waited for; whoever says so first is whom the others name. */
TEST(separate_hosts, firewall_between_two_is_named_by_all)
{
    struct network *net = start_behind_a_firewall(6);
    char at_from[128], at_to[128], said[1024];
    snprintf(at_from, sizeof at_from, "node %d (10.77.0.%d:", TO, TO + 1);
    snprintf(at_to, sizeof at_to, "node %d (10.77.0.%d:", FROM, FROM + 1);
    for (int n = 0; n < NODES; n++) {
        snprintf(said, sizeof said, "%s", child_hear(&net->node[n]));
        printf("node %d: %s\n", n, said);
        bool names_from = strstr(said, at_to), names_to = strstr(said, at_from);
        CHECK(n == FROM ? names_to : n == TO ? names_from : names_from && names_to);
        CHECK(strstr(said, " has not ") && !strstr(said, "silent"));
        child_wait(&net->node[n]);
    }
    cables_remove(&net->cables);
}

/* Nobody is taken for one that died: it acknowledges. */
TEST(separate_hosts, firewall_that_drops_large_packets_is_no_dead_node)
{
    struct network *net = &network[0];
    lay(net, 2);
    cables_narrow(&net->cables, 0);
    start(net, BY_ADDRESS, 4, HANG_S);
    await_open(net);
    for (int n = 0; n < 2; n++) {
        const char *said = child_hear(&net->node[n]);
        printf("node %d: %s\n", n, said);
        CHECK_STR(said, "was silent for 4 s" TCP_ACKNOWLEDGED);
    }
    finish(net);
}

/* ---- a host's own name ---- */

TEST(separate_hosts, name_on_loopback_is_found_by_others)
{
    for (enum found found = BY_NAME_AND_SECRET; found <= BY_NAME_AND_INTERFACE; found++) {
        lay(&network[0], 3);
        start(&network[0], found, 0, HANG_S);
        await_open(&network[0]);
        finish(&network[0]);
    }
}
