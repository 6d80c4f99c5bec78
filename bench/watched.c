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
#include "common/latency.h"
#include "common/must.h"
#include "common/node_process.h"
#include "common/run.h"
#include "common/times.h"
#include "locus.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *const about =
    "Times single pulls of rows that are here, and counts the processor time of a node that has\n"
    "nothing to do: without metrics, with them, and with them scraped each second.\n"
    "A cell's name, for --only, is one of: off on scraped";

enum { ROWS = 1 << 17, LENGTH = 128, SEQUENCE = 1 << 16, CLOSE_S = 20 };
enum { OFF, ON, SCRAPED, SETTINGS };
static const char *const names[SETTINGS] = {"off", "on", "scraped"};
static const char scraper_role[] = "--scraper";
static const struct locus_table table = {.name = "rows", .rows = ROWS, .length = LENGTH};

/* A step in a table with AdaGrad; and the same by hand, with sums in the row. */
enum { PULL, PUSH, STEP, PUSH_STEP, CHANGE };
static const char *const call_names[] = {"pull", "push", "step", "push-step", "change", NULL};
static uint64_t calls, seconds = 10;
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

static struct bench {
    struct run run;
    struct node_process *scraper;
    double seconds;
    locus *node;
    locus_worker *worker;
    locus_key *keys; /* [SEQUENCE] of rows that are here */
    struct times pulls[SETTINGS];
    double idle[SETTINGS][REPETITIONS_MAX],
        scrapes[REPETITIONS_MAX]; /* shares of a core; answers */
} bench;

/* ---- who scrapes, a process of its own ---- */

static atomic_uint scraped_port; /* 0: none */
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

static void *scrape_each_second(void *none)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        unsigned port = atomic_load(&scraped_port);
        if (port) scrape(port);
        next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return none;
}

/* A question's number is the port; the answer: how often it was scraped since the last question. */
static _Noreturn void scraper_main(void)
{
    pthread_t thread;
    must(-pthread_create(&thread, NULL, scrape_each_second, NULL), "pthread_create");
    for (;;) {
        struct node_question q;
        node_process_question(&q);
        atomic_store(&scraped_port, (unsigned)q.numbers[0]);
        unsigned n = atomic_exchange(&scrapes, 0);
        node_process_answer(&n, sizeof n);
    }
}

static unsigned let_scrape(const struct bench *b, unsigned port)
{
    const struct node_question q = {.what = 1, .numbers = {port}};
    unsigned n;
    node_process_ask(b->scraper, &q, &n, sizeof n, CLOSE_S);
    return n;
}

/* ---- the cluster ---- */

/* Between what is measured, so that nobody waits for long enough to say so. */
enum { BARRIERS = 3 };

/* Node 1 waits until node 0 has done. */
static int other_main(const char *rendezvous)
{
    locus *node;
    locus_worker *worker;
    struct locus_config c = cluster_config(&table, 1, LOCUS_ADAPTIVE, 1, 2, rendezvous);
    cluster_open(&c, &node, &worker);
    for (int i = 0; i < BARRIERS; i++) must(locus_barrier(worker), "locus_barrier");
    cluster_close(node, worker);
    return 0;
}

static void write_rows(struct bench *b)
{
    static const float one[2 * LENGTH] = {1};
    locus_key *own = must_alloc(locus_keys(b->node) * sizeof *own);
    size_t count = locus_owned(b->node, 0, own, locus_keys(b->node));
    if (count == 0) fail("node 0 owns no row");
    for (size_t i = 0; i < count; i++) must(locus_set(b->worker, &own[i], 1, one), "locus_set");
    keys_fill(b->keys, SEQUENCE, KEYS_UNIFORM, count, 1);
    for (size_t i = 0; i < SEQUENCE; i++) b->keys[i] = own[b->keys[i]];
    free(own);
}

/* ---- what is measured ---- */

/* Out of line, so that callgrind can be told to look here only. */
static __attribute__((noinline)) void access_row(locus_worker *w, const locus_key *key, float *row)
{
    must(pushes ? locus_push(w, key, 1, row) : locus_pull(w, key, 1, row), "locus_pull or _push");
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

static __attribute__((noinline)) void access_row_to_step(locus_worker *w, locus_key key, float *row)
{
    must(call == STEP ? locus_step_local(w, key, copy_gradient, row)
                      : locus_change_local(w, key, step_by_hand, row),
         "locus_step_local or _change_local");
}

static void time_pulls(struct bench *b, unsigned setting, unsigned repetition)
{
    static struct latency latency;
    static float row[LENGTH];
    latency_clear(&latency);
    uint64_t now = clock_ns(), end = now + (uint64_t)(1e9 * b->seconds);
    for (uint64_t i = 0; now < end; i++) {
        uint64_t from = clock_ns();
        access_row(b->worker, &b->keys[i % SEQUENCE], row);
        now = clock_ns();
        uint64_t took = now - from;
        latency_record(&latency, took > b->run.clock_cost ? took - b->run.clock_cost : 0);
    }
    times_note(&b->pulls[setting], &latency, repetition);
}

/* All threads of a node whose worker sleeps. */
static double share_when_idle(const struct bench *b)
{
    const struct timespec time = {
        .tv_sec = (time_t)b->seconds,
        .tv_nsec = (long)(1e9 * (b->seconds - (double)(time_t)b->seconds))};
    struct node_figures from = node_figures(b->node);
    nanosleep(&time, NULL);
    struct node_figures to = node_figures(b->node);
    return (double)(to.cpu_ns - from.cpu_ns) / (double)(to.time_ns - from.time_ns);
}

static void measure(struct bench *b, unsigned setting, unsigned repetition)
{
    if (!run_selects(&b->run, names[setting])) return;
    char rendezvous[CLUSTER_RENDEZVOUS], address[CLUSTER_RENDEZVOUS];
    unsigned port = node_process_port();
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    unsetenv("LOCUS_METRICS");
    if (setting != OFF) setenv("LOCUS_METRICS", address, 1);
    cluster_rendezvous(rendezvous);
    struct node_process *other = cluster_start_other(rendezvous, NULL, NULL);
    struct locus_config c = cluster_config(&table, 1, LOCUS_ADAPTIVE, 0, 2, rendezvous);
    cluster_open(&c, &b->node, &b->worker);
    write_rows(b);
    let_scrape(b, setting == SCRAPED ? port : 0);
    must(locus_barrier(b->worker), "locus_barrier");
    time_pulls(b, setting, repetition);
    must(locus_barrier(b->worker), "locus_barrier");
    b->idle[setting][repetition] = share_when_idle(b);
    unsigned n = let_scrape(b, 0);
    if (setting == SCRAPED) b->scrapes[repetition] = n;
    node_process_dismiss(other);
    must(locus_barrier(b->worker), "locus_barrier");
    cluster_close(b->node, b->worker);
    node_process_end_well(other, CLOSE_S);
}

static void count_calls(struct bench *b)
{
    static float row[LENGTH];
    bool in_place = call == STEP || call == CHANGE, steps = call == STEP || call == PUSH_STEP;
    struct locus_table t[2] = {table, {.name = "others", .rows = 1, .length = LENGTH}};
    pushes = call == PUSH || call == PUSH_STEP;
    if (call == CHANGE) t[0].length = 2 * LENGTH;
    if (steps) t[0].optimizer = t[1].optimizer = LOCUS_ADAGRAD;
    struct locus_config c = cluster_config(t, 1 + steps, LOCUS_ADAPTIVE, 0, 1, NULL);
    cluster_open(&c, &b->node, &b->worker);
    write_rows(b);
    for (uint64_t i = 0; i < calls; i++) {
        const locus_key *key = &b->keys[i % SEQUENCE];
        if (in_place)
            access_row_to_step(b->worker, *key, row);
        else
            access_row(b->worker, key, row);
    }
    cluster_close(b->node, b->worker);
}

/* ---- what it says ---- */

static void report(struct bench *b)
{
    struct run *r = &b->run;
    for (unsigned s = 0; s < SETTINGS; s++) {
        if (!run_selects(r, names[s])) continue;
        run_cell(r, names[s]);
        times_json(r, &b->pulls[s]);
        run_values(r, "idle_share", b->idle[s]);
        if (s == SCRAPED) run_values(r, "scrapes", b->scrapes);
        json_end(&r->json);
    }
}

static void compare(struct bench *b)
{
    b->scraper = node_process_start("the scraper", (const char *const[]){scraper_role, NULL});
    for (unsigned i = 0; i < b->run.repetitions; i++)
        for (unsigned s = 0; s < SETTINGS; s++) measure(b, run_turn(i, s, SETTINGS), i);
    report(b);
    node_process_end(b->scraper, CLOSE_S);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_main(argv[2]);
    if (node_process_is(argc, argv, scraper_role)) scraper_main();
    const struct program program = {.name = "watched",
                                    .about = about,
                                    .more = more,
                                    .more_count = sizeof more / sizeof *more,
                                    .has_no_demo = true};
    run_parse(&b->run, &program, argc, argv);
    args_needs("--call", "--calls");
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 9});
    bool selects = false;
    for (unsigned s = 0; s < SETTINGS; s++) selects |= run_selects(&b->run, names[s]);
    run_begin(&b->run, selects);
    b->seconds = b->run.options.quick ? 0.1 : (double)seconds;
    b->keys = must_alloc(SEQUENCE * sizeof *b->keys);
    if (calls)
        count_calls(b);
    else
        compare(b);
    run_end(&b->run);
    free(b->keys);
    return 0;
}
