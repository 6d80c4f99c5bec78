/*
 * Metrics of what waits: where a link does not get on, its bytes queue, credit is in use, and
 * requests come before the rows that they are for.
 */
#include "islands.h"
#include "scraping.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of 4 KiB: what the one node owes the other is more than fits into the network. */
enum { NODES = 3, ROWS = 900, LENGTH = 1024, PORT = 9400 };
static const struct locus_table table = {.rows = ROWS, .length = LENGTH};

struct part {
    locus *node;
    locus_worker *worker;
    size_t owned;
    locus_key own[ROWS], all[ROWS]; /* whose home is here */
    float *values;
};

/* All rows are written: else they would travel without values. */
static void write_rows(struct part *p)
{
    p->values = calloc((size_t)ROWS * LENGTH, sizeof *p->values);
    CHECK(p->values != NULL);
    for (size_t i = 0; i < (size_t)ROWS * LENGTH; i++) p->values[i] = 1;
    for (size_t i = 0; i < ROWS; i++) p->all[i] = i;
    p->owned = locus_owned(p->node, 0, p->own, ROWS);
    CHECK(p->owned > ROWS / NODES / 2);
    CHECK_EQ(locus_push(p->worker, p->own, p->owned, p->values), 0);
    CHECK_EQ(locus_barrier(p->worker), 0);
}

static void tell_sample(const char *name)
{
    static char page[PAGE_MAX];
    scraping_get(PORT, page);
    parent_tell("%.0f", scraping_sum(page, name));
}

/* Does the page of the key say so, at this node? */
static bool page_says(locus_key key, const char *text)
{
    static char page[PAGE_MAX];
    char question[64];
    snprintf(question, sizeof question, "GET /key?key=%llu HTTP/1.0\r\n\r\n",
             (unsigned long long)key);
    scraping_say(PORT, question, page);
    return strstr(page, text) != NULL;
}

/* Rank 0, that one of its rows has gone to rank 2. It is pulled first, before the credit is used
 * up. */
static void hear_of_it(struct part *p)
{
    double until = now_s() + HANG_S;
    size_t i = 0;
    for (; !page_says(p->own[i], "\nowner 2 "); i = (i + 1) % p->owned) CHECK(now_s() < until);
    locus_key gone = p->own[i];
    p->own[i] = p->own[0];
    p->own[0] = gone;
    parent_tell("%llu", (unsigned long long)gone);
}

static void await_parked(locus_key key)
{
    for (double until = now_s() + HANG_S; !page_says(key, "\nparked "); sleep_s(0.01))
        CHECK(now_s() < until);
}

/* What a node does when it is told so: each word is answered with a line. */
static void obey(struct part *p, const char *word)
{
    locus_ticket ticket;
    unsigned long long key;
    if (strcmp(word, "fetch") == 0) {
        CHECK_EQ(locus_localize(p->worker, p->all, ROWS), 0);
    } else if (strcmp(word, "begin to fetch") == 0) {
        CHECK_EQ(locus_localize_async(p->worker, p->all, ROWS, &ticket), 0);
    } else if (strcmp(word, "let go") == 0) {
        for (double until = now_s() + HANG_S; stats_of(p->node).relocated_out == 0; sleep_s(0.01))
            CHECK(now_s() < until);
    } else if (strcmp(word, "hear of it") == 0) {
        hear_of_it(p);
        return;
    } else if (sscanf(word, "hold the request for %llu", &key) == 1) {
        await_parked(key);
    } else if (strcmp(word, "begin to pull") == 0) {
        CHECK_EQ(locus_pull_async(p->worker, p->own, p->owned, p->values, &ticket), 0);
    } else if (strcmp(word, "end") == 0) {
        CHECK_EQ(locus_wait_all(p->worker), 0);
        CHECK_EQ(locus_barrier(p->worker), 0);
    } else {
        tell_sample(word);
        return;
    }
    parent_tell("done");
}

ROLE(loaded)
{
    static struct part p;
    int rank;
    char listen[ADDRESS_BYTES], word[LINE_BYTES];
    struct team t = {TEAM_OF(NODES, 1, 1, LOCUS_RELOCATE, &table, 1), .listen = listen,
                     .peer_timeout_s = HANG_S};
    CHECK_EQ(sscanf(arguments, "%d %31s %31s", &rank, t.address, listen), 3);
    char port[16];
    snprintf(port, sizeof port, "%d", PORT - rank);
    CHECK_EQ(setenv("LOCUS_METRICS", port, 1), 0);
    p.node = team_open(&t, rank);
    p.worker = worker_of(p.node);
    write_rows(&p);
    parent_tell("ready");
    while (parent_hear(word) && strcmp(word, "close") != 0) obey(&p, word);
    CHECK_EQ(locus_worker_close(p.worker), 0);
    CHECK_EQ(locus_close(p.node), 0);
    free(p.values);
}

static void start(struct islands *s, struct child c[NODES])
{
    char address[ADDRESS_BYTES], listen[ADDRESS_BYTES];
    islands_open(s, NODES);
    islands_rendezvous(address);
    for (int i = 0; i < NODES; i++) {
        islands_address(i, listen);
        islands_enter(s, i);
        child_start(&c[i], "loaded", "%d %s %s", i, address, listen);
        islands_leave(s);
    }
    for (int i = 0; i < NODES; i++) child_expect(&c[i], "ready");
}

static void order(struct child *c, const char *word)
{
    child_tell(c, word);
    child_expect(c, "done");
}

static double ask(struct child *c, const char *name)
{
    child_tell(c, name);
    return strtod(child_hear(c), NULL);
}

/* Rank 0's rows go to rank 1, and from there to rank 2, on a link that stalls. Rank 0 hears that
 * they have gone, and asks for them at rank 2, where they are not yet. */
TEST(loads, show_what_waits)
{
    CLOSED_BY(islands_close) struct islands s;
    struct child c[NODES];
    char held[LINE_BYTES];
    start(&s, c);
    order(&c[1], "fetch");
    islands_stall(&s, 1, 2, true);
    order(&c[2], "begin to fetch");
    order(&c[1], "let go");
    child_tell(&c[0], "hear of it");
    snprintf(held, sizeof held, "hold the request for %s", child_hear(&c[0]));
    order(&c[0], "begin to pull");
    order(&c[2], held);
    for (double until = now_s() + HANG_S;; sleep_s(0.05)) {
        bool waits = ask(&c[1], "locus_peer_queued_bytes{peer=\"2\"}") > 100000 &&
                     ask(&c[0], "locus_peer_asked_bytes") > 0 &&
                     ask(&c[2], "locus_peer_asked_bytes") > 0;
        if (waits) break;
        CHECK(now_s() < until);
    }
    CHECK(ask(&c[2], "locus_parked_seconds_count") == 0);
    islands_stall(&s, 1, 2, false);
    for (int i = 0; i < NODES; i++) child_tell(&c[i], "end");
    for (int i = 0; i < NODES; i++) child_expect(&c[i], "done");
    CHECK(ask(&c[2], "locus_parked_seconds_count") > 0);
    for (int i = 0; i < NODES; i++) CHECK(ask(&c[i], "locus_peer_asked_bytes") == 0);
    for (int i = 0; i < NODES; i++) child_tell(&c[i], "close");
    for (int i = 0; i < NODES; i++) child_wait(&c[i]);
}
