/*
 * watched.c - what metrics cost a node of two: without LOCUS_METRICS, with it, and scraped each
 * second by another process. Single pulls of rows that are here, and the processor time of a node
 * whose worker does nothing.
 *
 * A repetition opens a cluster for each of the three, back and forth, so that a noisy moment meets
 * all of them. For instructions there is --calls N under callgrind, on a cluster of one, with
 * metrics as the environment says; --toggle-collect='access_row*' looks at the calls alone.
 */
#include "common/clock.h"
#include "common/cluster.h"
#include "common/floors.h"
#include "common/keys.h"
#include "common/must.h"
#include "common/rows.h"
#include "common/run.h"
#include "locus.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const about =
    "Times single pulls of rows that are here, and counts the processor time of a node that has\n"
    "nothing to do: without metrics, with them, and with them scraped each second.\n"
    "A cell's name, for --only, is one of: off on scraped";

enum { ROWS = 1 << 17, LENGTH = 128, SEQUENCE = 1 << 16, CLOSE_S = 20 };
enum { OFF, ON, SCRAPED, SETTINGS };
static const char *const names[SETTINGS] = {"off", "on", "scraped"};
static const struct locus_table table = {.name = "rows", .rows = ROWS, .length = LENGTH};

/* A step in a table with AdaGrad; and the same by hand, with sums in the row. */
enum { PULL, PUSH, STEP, PUSH_STEP, CHANGE };
static const char *const call_names[] = {"pull", "push", "step", "push-step", "change", NULL};
static uint64_t calls, seconds = 10, part_ns;
static int call;
static bool pushes;
static const struct args_option more[] = {
    OPTION_COUNT(
        "--calls", "N", &calls, 1, UINT32_MAX, 0,
        "so many calls on a cluster of one, nothing is timed, metrics as LOCUS_METRICS says"),
    OPTION_CHOICE(
        "--call", "C", &call, call_names, 0,
        "with --calls: which (pull); a step is one of AdaGrad, a change the same by hand"),
    OPTION_COUNT("--seconds", "S", &seconds, 1, 3600, 0,
                 "how long each cell is measured, in each repetition (10)"),
};

static locus *node;
static locus_worker *worker;
static locus_key *keys; /* [SEQUENCE] of rows that are here */

/* ---- node 1, which scrapes node 0 ---- */

static atomic_uint scrapes;

/* A scrape that fails is not counted. */
static void scrape(unsigned port)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
    static char page[1 << 16];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_asked = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                    send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0;
    ssize_t n, all = 0;
    while (is_asked && (n = read(fd, page, sizeof page)) > 0) all += n;
    if (all > 1000) atomic_fetch_add(&scrapes, 1);
    close(fd);
}

static void *scrape_each_second(void *port)
{
    uint64_t next = clock_ns();
    for (;; next += 1000000000) {
        clock_sleep_until(next);
        scrape((unsigned)(uintptr_t)port);
    }
    return NULL;
}

static void open_node(int rank, const char *rendezvous)
{
    struct locus_config c = cluster_config(&table, 1, LOCUS_ADAPTIVE, rank, 2, rendezvous);
    cluster_open(&c, &node, &worker);
}

/* Barriers stand between what is measured, so that nobody waits for long enough to say so. */
static int other_main(const struct cluster_node *n)
{
    pthread_t thread;
    struct node_question q;
    void *port = (void *)(uintptr_t)n->number; /* 0: of nobody */
    open_node(1, n->rendezvous);
    must(locus_barrier(worker), "locus_barrier");
    if (port) must(-pthread_create(&thread, NULL, scrape_each_second, port), "pthread_create");
    must(locus_barrier(worker), "locus_barrier");
    node_process_question(&q);
    unsigned scraped = atomic_load(&scrapes);
    node_process_answer(&scraped, sizeof scraped);
    must(locus_barrier(worker), "locus_barrier");
    cluster_close(node, worker);
    return 0;
}

/* ---- node 0 ---- */

static void write_rows(void)
{
    locus_key *own = must_alloc(locus_keys(node) * sizeof *own);
    size_t count = locus_owned(node, 0, own, locus_keys(node));
    if (count == 0) fail("node 0 owns no row");
    rows_write_own(node, worker, row_value);
    keys = must_alloc(SEQUENCE * sizeof *keys);
    keys_fill(keys, SEQUENCE, KEYS_UNIFORM, count, 1);
    for (size_t i = 0; i < SEQUENCE; i++) keys[i] = own[keys[i]];
    free(own);
}

/* Out of line, so that callgrind can be told to look here only. */
static __attribute__((noinline)) void access_row(const locus_key *key, float *row)
{
    must(pushes ? locus_push(worker, key, 1, row) : locus_pull(worker, key, 1, row),
         "locus_pull or _push");
}

static void copy_gradient(void *from, const float *values, float *gradient, uint32_t length)
{
    (void)values;
    memcpy(gradient, from, length * sizeof *gradient);
}

static void step_by_hand(void *from, float *row, uint32_t length)
{
    static float gradient[LENGTH];
    copy_gradient(from, row, gradient, length / 2);
    row_adagrad(row, gradient, length / 2, 0.01F);
}

static __attribute__((noinline)) void access_row_to_step(locus_key key, float *row)
{
    must(call == STEP ? locus_step_local(worker, key, copy_gradient, row)
                      : locus_change_local(worker, key, step_by_hand, row),
         "locus_step_local or _change_local");
}

static void time_pulls(struct cell *c)
{
    static struct latency latency;
    static float row[LENGTH];
    latency_clear(&latency);
    uint64_t now = clock_ns(), end = now + part_ns;
    for (uint64_t i = 0; now < end; i++) {
        uint64_t from = clock_ns();
        access_row(&keys[i % SEQUENCE], row);
        now = latency_since(&latency, from);
    }
    cell_times(c, &latency);
}

/* All threads of a node whose worker sleeps: of a core. */
static double share_when_idle(void)
{
    struct node_figures from = node_figures(node);
    clock_sleep_until(from.time_ns + part_ns);
    struct node_figures to = node_figures(node);
    return (double)(to.cpu_ns - from.cpu_ns) / (double)(to.time_ns - from.time_ns);
}

static void measure(struct cell *c)
{
    char rendezvous[CLUSTER_RENDEZVOUS], address[CLUSTER_RENDEZVOUS];
    bool is_scraped = c->what == &names[SCRAPED];
    unsigned port = node_process_port(), scraped;
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    unsetenv("LOCUS_METRICS");
    if (c->what != &names[OFF]) setenv("LOCUS_METRICS", address, 1);
    cluster_rendezvous(rendezvous);
    struct node_process *other = cluster_start_node(1, rendezvous, is_scraped ? port : 0);
    open_node(0, rendezvous);
    write_rows();
    must(locus_barrier(worker), "locus_barrier");
    time_pulls(c);
    must(locus_barrier(worker), "locus_barrier");
    *cell_figure(c, "idle_share") = share_when_idle();
    node_process_ask(other, &(struct node_question){.what = 1}, &scraped, sizeof scraped, CLOSE_S);
    if (is_scraped) *cell_figure(c, "scrapes") = scraped;
    node_process_dismiss(other);
    must(locus_barrier(worker), "locus_barrier");
    cluster_close(node, worker);
    node_process_end(other, CLOSE_S);
    free(keys);
}

static void count_calls(void)
{
    static float row[LENGTH];
    bool in_place = call == STEP || call == CHANGE, steps = call == STEP || call == PUSH_STEP;
    struct locus_table t[2] = {table, {.name = "others", .rows = 1, .length = LENGTH}};
    pushes = call == PUSH || call == PUSH_STEP;
    if (call == CHANGE) t[0].length = 2 * LENGTH;
    if (steps) t[0].optimizer = t[1].optimizer = LOCUS_ADAGRAD;
    struct locus_config c = cluster_config(t, 1 + steps, LOCUS_ADAPTIVE, 0, 1, NULL);
    cluster_open(&c, &node, &worker);
    write_rows();
    for (uint64_t i = 0; i < calls; i++) {
        const locus_key *key = &keys[i % SEQUENCE];
        if (in_place)
            access_row_to_step(*key, row);
        else
            access_row(key, row);
    }
    cluster_close(node, worker);
    free(keys);
}

int main(int argc, char **argv)
{
    struct cluster_node n;
    if (cluster_is_node(argc, argv, &n)) return other_main(&n);
    const struct program program = {.name = "watched",
                                    .about = about,
                                    .more = more,
                                    .more_count = sizeof more / sizeof *more,
                                    .quick = 1,
                                    .full = 9};
    run_parse(&program, argc, argv);
    args_needs("--call", "--calls");
    for (unsigned s = 0; s < SETTINGS; s++) run_cell(&names[s], NULL, true, "%s", names[s]);
    run_begin();
    part_ns = run.quick ? 100000000 : seconds * 1000000000;
    if (calls)
        count_calls();
    else
        run_measure(NULL, measure);
    run_end();
    return 0;
}
