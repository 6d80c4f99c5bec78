/*
 * Whoever knocks at the port of metrics: slow, huge, many, senseless. The node's memory stays
 * within what httpd.h allows, and its training goes on, to the update.
 */
#include "scraping.h"
#include "team.h"

#include "observe/httpd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES_MAX = 2, KEYS = 200, LENGTH = 8, CROWD = 3 * HTTPD_CONNECTIONS_MAX };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* ---- who trains ---- */

static struct training {
    unsigned base; /* port of node 0 */
    unsigned nodes;
    uint64_t steps[NODES_MAX]; /* atomic: so far */
    bool is_asked_to_end;      /* atomic */
} training;

/* Adds 1 to rows that all nodes share and to others, until it is asked to end. */
static void train(struct seat *s)
{
    const float one[LENGTH] = {1};
    uint64_t steps = 0;
    while (!__atomic_load_n(&training.is_asked_to_end, __ATOMIC_ACQUIRE)) {
        locus_key keys[2] = {steps % 10, 10 + seat_random(s, KEYS - 10)};
        float rows[2 * LENGTH];
        locus_clock next = locus_advance_clock(s->worker) + 1;
        CHECK_EQ(locus_intent(s->worker, keys, 2, next, next + 2), 0);
        CHECK_EQ(locus_pull(s->worker, keys, 2, rows), 0);
        for (int i = 0; i < 2; i++) CHECK_EQ(locus_push(s->worker, &keys[i], 1, one), 0);
        __atomic_store_n(&training.steps[s->rank], ++steps, __ATOMIC_RELEASE);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
    double sum = 0;
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
        sum += (double)row[0];
    }
    double all = 0;
    for (unsigned i = 0; i < training.nodes; i++)
        all += 2 * (double)__atomic_load_n(&training.steps[i], __ATOMIC_ACQUIRE);
    CHECK(sum == all);
    seat_barrier(s);
}

static void *run_team(void *team)
{
    team_run(team, train);
    return NULL;
}

/* Until every node has gone on by so many steps. */
static void await_steps(uint64_t more)
{
    uint64_t from[NODES_MAX];
    double until = now_s() + HANG_S;
    for (unsigned i = 0; i < training.nodes; i++)
        from[i] = __atomic_load_n(&training.steps[i], __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < training.nodes; i++)
        while (__atomic_load_n(&training.steps[i], __ATOMIC_ACQUIRE) < from[i] + more) {
            CHECK(now_s() < until);
            sleep_s(0.001);
        }
}

/* ---- who knocks ---- */

static void say(int fd, const char *text, size_t bytes)
{
    send(fd, text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Asks, and reads what comes. */
static void ask(unsigned port)
{
    static char page[PAGE_MAX];
    scraping_get(port, page);
}

/* Asks again and again on one connection, and reads nothing. */
static int ask_and_not_read(unsigned port)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    int fd = scraping_dial(port), small = 2048;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 500; i++) say(fd, request, sizeof request - 1);
    return fd;
}

/* A request that never ends: as much as is taken. */
static int ask_without_end(unsigned port)
{
    static const char line[] =
        "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    int fd = scraping_dial(port);
    say(fd, "GET /metrics HTTP/1.1\r\n", 23);
    for (int i = 0; i < 1000; i++) say(fd, line, sizeof line - 1);
    return fd;
}

/* The beginning of one, and then nothing. */
static int ask_half(unsigned port)
{
    int fd = scraping_dial(port);
    say(fd, "GET /metr", 9);
    return fd;
}

static int ask_with_a_body(unsigned port)
{
    static char body[1 << 16];
    int fd = scraping_dial(port);
    say(fd, "POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 52);
    for (int i = 0; i < 16; i++) say(fd, body, sizeof body);
    return fd;
}

static int ask_nonsense(unsigned port)
{
    static unsigned seed = 1;
    char noise[300];
    int fd = scraping_dial(port);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)rand_r(&seed);
    say(fd, noise, sizeof noise);
    return fd;
}

/* More of each kind than are held, all at once; then they leave, and one asks well. */
static void knock(void)
{
    static int (*const kinds[])(unsigned) = {ask_and_not_read, ask_without_end, ask_half,
                                             ask_with_a_body, ask_nonsense};
    int fd[CROWD];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int i = 0; i < CROWD; i++)
            fd[i] = kinds[k](training.base + (unsigned)i % training.nodes);
        await_steps(3);
        for (int i = 0; i < CROWD; i++) close(fd[i]);
        for (unsigned r = 0; r < training.nodes; r++) ask(training.base + r);
    }
}

static void knock_often(int times)
{
    for (int i = 0; i < times; i++) knock();
    for (int i = 0; i < 100 * times; i++) ask(training.base);
}

/* ---- what becomes of it ---- */

static pthread_t begin_training(struct team *t, unsigned nodes)
{
    pthread_t thread;
    *t = (struct team){TEAM_OF((int)nodes, 1, 0, LOCUS_ADAPTIVE, &table, 1)};
    training.nodes = nodes;
    training.base = scraping_ports(nodes);
    CHECK_EQ(pthread_create(&thread, NULL, run_team, t), 0);
    await_steps(100);
    return thread;
}

static void end_training(pthread_t thread)
{
    __atomic_store_n(&training.is_asked_to_end, true, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Who trains looks at the sum. */
TEST(knocking, costs_no_update)
{
    struct team t;
    pthread_t thread = begin_training(&t, 2);
    knock_often(3);
    end_training(thread);
}

/* What a round needs is taken in the first; more of them take no more than all connections may hold
 * at once, however many came and went: some three thousand, with a hundred megabytes. One node:
 * what waits for others takes memory, too, by the load of the machine. */
TEST(knocking, takes_bounded_memory)
{
    enum { PAGE_BYTES = 1 << 15, ROUNDS = 5 };
    const long room_kb = HTTPD_CONNECTIONS_MAX * (HTTPD_CONNECTION_BYTES + PAGE_BYTES) / 1024;
    struct team t;
    pthread_t thread = begin_training(&t, 1);
    knock_often(1);
    struct footprint before = footprint_now();
    knock_often(ROUNDS);
    struct footprint after = footprint_now();
    CHECK_EQ(after.threads, before.threads);
    CHECK(after.descriptors <= before.descriptors + HTTPD_CONNECTIONS_MAX);
    if (!IS_SANITIZED) CHECK(after.resident_kb - before.resident_kb < room_kb);
    end_training(thread);
}
