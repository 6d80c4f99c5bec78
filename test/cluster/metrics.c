/*
 * What a node tells over HTTP (LOCUS_METRICS): it is what locus_stats and the histograms say, a real
 * Prometheus takes it, every metric is moved by something, also of what waits where a link does not
 * get on, and a locale with a decimal comma changes nothing. Whatever clients do at the port, the
 * node's memory stays within what httpd.h allows, and its training goes on, to the update.
 */
#include "command.h"
#include "common/comma.h"
#include "common/folder.h"
#include "common/port.h"
#include "namespaces.h"
#include "team.h"

#include "observe/httpd.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { NODES = 3, KEYS = 300, LENGTH = 8, PAGE_MAX = 1 << 18 };
static const struct locus_table table = {.name = "a table", .rows = KEYS, .length = LENGTH};

static unsigned base; /* node r is at base + r */
static char pages[NODES][PAGE_MAX];

/* ---- a client ---- */

/* Nodes that are opened from now on serve at ports of their own. */
static void ask_for_metrics(unsigned nodes)
{
    char text[16];
    base = (unsigned)port_new_row((int)nodes);
    snprintf(text, sizeof text, "%u", base);
    CHECK_EQ(setenv("LOCUS_METRICS", text, 1), 0);
}

static int dial(unsigned port)
{
    const struct timeval timeout = {.tv_sec = HANG_S};
    char address[ADDRESS_BYTES];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    int fd = address_dial(address);
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
}

static size_t read_answer(int fd, char *page, size_t capacity)
{
    size_t have = 0;
    /* With a time-out a read is not taken up again that is interrupted, as by SIGCONT, or by what
     * an io_uring of this thread has done. */
    for (;;) {
        ssize_t n = have + 1 < capacity ? read(fd, page + have, capacity - 1 - have) : 0;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    page[have] = '\0';
    return have;
}

static void ask_port(unsigned port, const char *request, char page[PAGE_MAX])
{
    int fd = dial(port);
    CHECK_EQ(write(fd, request, strlen(request)), strlen(request));
    read_answer(fd, page, PAGE_MAX);
    close(fd);
}

/* /metrics, which must be answered well. */
static void get_page(unsigned port, char page[PAGE_MAX])
{
    ask_port(port, "GET /metrics HTTP/1.0\r\n\r\n", page);
    CHECK_STR(page, " 200 OK");
    CHECK_STR(page, "text/plain; version=0.0.4");
}

/* The first line from there on that begins so; NULL: there is none. */
static const char *line_of(const char *from, const char *begin)
{
    size_t n = strlen(begin);
    while (from && strncmp(from, begin, n) != 0)
        if ((from = strchr(from, '\n'))) from++;
    return from;
}

/* The sample that is called so, "locus_rounds_total" or "name{label=\"x\"}"; -1: there is none. */
static double sample_of(const char *page, const char *name)
{
    for (size_t n = strlen(name); (page = line_of(page, name)); page++)
        if (page[n] == ' ') return strtod(page + n, NULL);
    return -1;
}

/* The sum of all whose lines begin so. */
static double sum_of(const char *page, const char *begin)
{
    double sum = 0;
    for (; (page = line_of(page, begin)); page++) sum += strtod(strchr(page, ' '), NULL);
    return sum;
}

/* ---- what moves them ---- */

/* Nobody waits for the push: it is complete some time. */
static void work_without_waiting(struct seat *s, locus_key key, float row[LENGTH])
{
    locus_ticket ticket;
    static const float nothing[LENGTH];
    CHECK_EQ(locus_pull_async(s->worker, &key, 1, row, &ticket), 0);
    CHECK_EQ(locus_wait(s->worker, ticket), 0);
    CHECK_EQ(locus_push_async(s->worker, &key, 1, nothing, &ticket), 0);
}

/* Each accesses rows of its own and rows of all, with intent and without, and too late. */
static void work(struct seat *s)
{
    float row[LENGTH] = {1};
    for (int i = 0; i < 200; i++) {
        locus_clock now = locus_current_clock(s->worker);
        locus_key shared = (locus_key)(i % 10),
                  own = 10 + (locus_key)(i + s->rank * 90) % (KEYS - 10),
                  any = seat_random(s, KEYS);
        locus_intent(s->worker, &shared, 1, now, now + 3);
        locus_intent(s->worker, &own, 1, now + 2, now + 4);
        CHECK_EQ(locus_push(s->worker, &shared, 1, row), 0);
        CHECK_EQ(locus_pull(s->worker, &own, 1, row), 0);
        CHECK_EQ(locus_pull(s->worker, &any, 1, row), 0);
        CHECK_EQ(locus_push(s->worker, &any, 1, row), 0);
        work_without_waiting(s, any, row);
        locus_advance_clock(s->worker);
        if (i % 20 == 0) locus_localize(s->worker, &any, 1);
        sleep_s(0.001);
    }
    locus_clock now = locus_current_clock(s->worker);
    for (locus_key k = 0; k < 10; k++) locus_intent(s->worker, &k, 1, now, INT64_MAX);
    CHECK_EQ(locus_quiesce(s->worker), 0);
    sleep_s(0.3);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static struct team team_of_three(void)
{
    return (struct team){TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, &table, 1)};
}

/* ---- they are what the node counts ---- */

/* Whatever a metric says that does not change at rest. */
struct told {
    const char *name;
    size_t at; /* in the statistics */
};
#define TOLD(name, field) \
    { \
        name, offsetof(struct locus_stats, field) \
    }
static const struct told all_told[] = {
    TOLD("locus_pulled_keys_total{place=\"local\"}", pulled_local),
    TOLD("locus_pulled_keys_total{place=\"replica\"}", pulled_replica),
    TOLD("locus_pulled_keys_total{place=\"remote\"}", pulled_remote),
    TOLD("locus_pushed_keys_total{place=\"local\"}", pushed_local),
    TOLD("locus_pushed_keys_total{place=\"replica\"}", pushed_replica),
    TOLD("locus_pushed_keys_total{place=\"remote\"}", pushed_remote),
    TOLD("locus_relocated_rows_total{direction=\"in\"}", relocated_in),
    TOLD("locus_relocated_rows_total{direction=\"out\"}", relocated_out),
    TOLD("locus_replicas_created_total", replicas_created),
    TOLD("locus_replicas_dropped_total", replicas_dropped),
    TOLD("locus_replicas", replicas_now),
    TOLD("locus_owned_rows", owned_now),
    TOLD("locus_forwarded_requests_total", forwards),
    TOLD("locus_intended_keys_total", intents_signaled),
    TOLD("locus_late_keys_total", intents_late),
    TOLD("locus_kept_keys", kept_now),
};
enum { TOLD_COUNT = sizeof all_told / sizeof *all_told };
/* Heartbeats and rounds go on; all labels together. */
static const struct told all_moving[] = {
    TOLD("locus_sent_bytes_total", bytes_sent),
    TOLD("locus_received_bytes_total", bytes_received),
    TOLD("locus_sent_frames_total", messages_sent),
    TOLD("locus_received_frames_total", messages_received),
    TOLD("locus_rounds_total", rounds),
};

static uint64_t counted(const struct locus_stats *s, const struct told *t)
{
    uint64_t value;
    memcpy(&value, (const char *)s + t->at, sizeof value);
    return value;
}

static void compare(const struct locus_stats *s, const char *page)
{
    for (size_t i = 0; i < TOLD_COUNT; i++) {
        double value = sample_of(page, all_told[i].name);
        if (value != (double)counted(s, &all_told[i]))
            test_fail(__FILE__, __LINE__, "%s is %g, and not %llu", all_told[i].name, value,
                      (unsigned long long)counted(s, &all_told[i]));
    }
}

static bool is_at_rest(const struct locus_stats *before, const struct locus_stats *after)
{
    bool is = true;
    for (size_t i = 0; i < TOLD_COUNT; i++)
        is &= counted(before, &all_told[i]) == counted(after, &all_told[i]);
    return is;
}

/* Of ages by bucket their mean is known to a factor of two; it is the one that locus_stats has.
 * Each bucket of each shard lacks up to one: few ages say nothing. What comes between two looks may
 * be in one of them alone. */
static void compare_ages(const locus *node)
{
    enum { FEW = 1000 };
    struct locus_histogram h;
    double least = 0, all = 0, mean_s[2];
    mean_s[0] = stats_of(node).replica_staleness_mean_s;
    CHECK_EQ(locus_histogram_read(node, LOCUS_STALENESS, &h), 0);
    mean_s[1] = stats_of(node).replica_staleness_mean_s;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) {
        all += (double)h.count[i];
        least += 1e-9 * (double)(UINT64_C(1) << i) * (double)h.count[i];
    }
    bool fits = all < FEW;
    for (int i = 0; i < 2; i++)
        fits |= least < 1.2 * mean_s[i] * all && 2.2 * least > 0.8 * mean_s[i] * all;
    if (!fits)
        test_fail(__FILE__, __LINE__, "%g ages of %g s at least, in the mean %g or %g s", all,
                  least, mean_s[0], mean_s[1]);
}

static void compare_at_rest(struct seat *s)
{
    char *page = pages[s->rank];
    work(s);
    struct locus_stats before, after;
    const double until = now_s() + HANG_S;
    /* Shards that are late still drop or move rows. */
    do {
        CHECK(now_s() < until);
        before = stats_of(s->node);
        get_page(base + (unsigned)s->rank, page);
        after = stats_of(s->node);
    } while (!is_at_rest(&before, &after));
    compare(&after, page);
    compare_ages(s->node);
    for (size_t i = 0; i < sizeof all_moving / sizeof *all_moving; i++) {
        const struct told *t = &all_moving[i];
        double value = sum_of(page, t->name);
        if (value < (double)counted(&before, t) || value > (double)counted(&after, t))
            test_fail(__FILE__, __LINE__, "%s is %g", t->name, value);
    }
    CHECK(sample_of(page, "locus_worker_clock{worker=\"0\"}") == 200);
    CHECK(sample_of(page, "locus_blocked_seconds_count") > 0);
    seat_barrier(s);
}

TEST(metrics, samples_are_what_locus_stats_counts)
{
    const struct team t = team_of_three();
    ask_for_metrics(NODES);
    team_run(&t, compare_at_rest);
}

/* ---- the hottest keys ---- */

static bool is_home(const struct seat *s, locus_key key)
{
    locus_key own[KEYS];
    size_t owned = locus_owned(s->node, 0, own, KEYS), i = 0;
    while (i < owned && own[i] != key) i++;
    return i < owned;
}

/* An intent that only goes on is no other one: each ends before the next begins. */
static void look_for_hot_keys(struct seat *s)
{
    const locus_key intended = 7, pulled = 8;
    float row[LENGTH];
    char *page = pages[s->rank];
    for (int i = 0; i < 10; i++) {
        locus_clock now = locus_current_clock(s->worker);
        if (i % 2 == 0) CHECK_EQ(locus_intent(s->worker, &intended, 1, now, now + 1), 0);
        CHECK_EQ(locus_pull(s->worker, &pulled, 1, row), 0);
        CHECK_EQ(locus_quiesce(s->worker), 0);
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_quiesce(s->worker), 0);
    }
    ask_port(base + (unsigned)s->rank, "GET /keys HTTP/1.0\r\n\r\n", page);
    double begun = sum_of(page, "locus_hot_keys{key=\"7\","),
           asked = sum_of(page, "locus_hot_keys{key=\"8\",");
    CHECK(begun == 5);
    CHECK(asked == (is_home(s, pulled) ? 0 : 10));
    CHECK(sample_of(page, "locus_sampled_keys") == begun + asked);
    if (asked > 0)
        CHECK_STR(page, "locus_hot_keys{key=\"8\",place=\"remote\"} 10\nlocus_hot_keys{key=\"7\"");
    seat_barrier(s);
}

TEST(metrics, hot_keys_are_those_of_intents_and_of_requests_to_others)
{
    const struct team t = team_of_three();
    ask_for_metrics(NODES);
    team_run(&t, look_for_hot_keys);
}

/* ---- none is always zero ---- */

static char shown[4 * PAGE_MAX], saved[FOLDER_PATH_BYTES];

static void collect(struct seat *s)
{
    work(s);
    for (int i = 0; i < 10; i++) {
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_bound(s->worker, i % 2), 0);
    }
    CHECK_EQ(locus_checkpoint(s->worker, saved), 0);
    if (s->rank == 0)
        for (unsigned r = 0; r < NODES; r++) get_page(base + r, shown + strlen(shown));
    seat_barrier(s);
}

/* What is zero unless the network is slow, which it is below. */
static bool may_be_zero(const char *name)
{
    static const char *const names[] = {"locus_parked_seconds", "locus_peer_asked_bytes",
                                        "locus_peer_queued_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The next metric's name; false: there is none. */
static bool next_name(const char **at, char name[64])
{
    const char *line = line_of(*at, "# TYPE ");
    if (!line) return false;
    *at = line + 7;
    snprintf(name, 64, "%.*s", (int)strcspn(*at, " "), *at);
    return true;
}

/* The first metric that nothing has moved, whatever its labels. */
static bool is_any_still(char name[64])
{
    for (const char *at = shown; next_name(&at, name);) {
        double sum = 0;
        for (const char *line = shown; (line = line_of(line, name)); line++)
            if (strchr("{ _", line[strlen(name)])) sum += strtod(strchr(line, ' '), NULL);
        if (sum == 0 && !may_be_zero(name)) return true;
    }
    return false;
}

/* Every name is in docs/reference/metrics.md, and the dashboard has no other. */
static void names_are_in_the_manual(void)
{
    struct command c;
    char name[64];
    if (access("docs/reference/metrics.md", R_OK)) SKIP("this is not run in the source tree");
    for (const char *at = shown; next_name(&at, name);)
        command_must(&c, "grep -q '`%s`' docs/reference/metrics.md", name);
    command_must(&c, "grep -oE '(locus|process)_[a-z_]+' docs/reference/grafana.json | sort -u");
    for (char *used = strtok(c.out.text, "\n"); used; used = strtok(NULL, "\n"))
        if (!strstr(shown, used)) test_fail(__FILE__, __LINE__, "no metric is called %s", used);
}

/* Who waits for whom, and which request is forwarded, is chance: it may take another run. */
enum { RUNS = 5 };

TEST(metrics, no_sample_is_always_zero_and_names_are_in_the_manual)
{
    struct team t = team_of_three();
    char still[64] = "everything";
    unsigned names = 0;
    ask_for_metrics(NODES);
    folder_new(saved);
    for (int i = 0; i < RUNS && (i == 0 || is_any_still(still)); i++) {
        *shown = '\0';
        t.lab = "";
        team_run(&t, collect);
        t.lab = "tcp";
        team_run(&t, collect);
    }
    if (is_any_still(still)) test_fail(__FILE__, __LINE__, "%s is zero", still);
    for (const char *at = shown; next_name(&at, still);) names++;
    CHECK(names >= NODES * 40);
    names_are_in_the_manual();
}

/* ---- Prometheus ---- */

/* A node of a job, which works and then waits to be told that it may end. */
static void hold(struct seat *s)
{
    work(s);
    parent_tell("works");
    char word[LINE_BYTES];
    CHECK(parent_hear(word));
}

ROLE(metrics_job)
{
    struct team t = team_of_three();
    (void)arguments;
    team_run(&t, hold);
}

/* Until Prometheus answers so. */
static void await_answer(struct command *c, const char *web, const char *query, const char *answer)
{
    double until = now_s() + HANG_S;
    char right[32];
    snprintf(right, sizeof right, "=> %s @", answer);
    do {
        command_run(c, "promtool query instant http://%s '%s'", web, query);
        if (now_s() > until)
            test_fail(__FILE__, __LINE__, "%s: not %s, but %s", query, answer, c->out.text);
    } while (!strstr(c->out.text, right));
}

TEST(metrics, prometheus_takes_them)
{
    static char page[PAGE_MAX];
    char folder[FOLDER_PATH_BYTES], web[ADDRESS_BYTES];
    struct child job;
    static struct command server, c;
    if (command_run(&c, "command -v prometheus && command -v promtool"))
        SKIP("there is no prometheus here");
    folder_new(folder);
    ask_for_metrics(NODES);
    address_new(web);
    command_must(
        &c,
        "printf 'global: {scrape_interval: 200ms}\\nscrape_configs:\\n- job_name: locus\\n"
        "  static_configs: [{targets: [\"127.0.0.1:%u\", \"127.0.0.1:%u\", \"127.0.0.1:%u\"]}]\\n'"
        " > %s/prometheus.yml && promtool check config %s/prometheus.yml",
        base, base + 1, base + 2, folder, folder);
    child_start(&job, "metrics_job", "now");
    for (int i = 0; i < NODES; i++) child_expect(&job, "works");
    get_page(base, page);
    folder_write(folder, "page", strstr(page, "\r\n\r\n") + 4, 0);
    command_must(&c, "promtool check metrics < %s/page", folder);
    command_start(&server,
                  "exec prometheus --config.file=%s/prometheus.yml --storage.tsdb.path=%s/data "
                  "--web.listen-address=%s",
                  folder, folder, web);
    await_answer(&c, web, "count(count_over_time(locus_rounds_total[1m]) >= 2)", "3");
    await_answer(&c, web, "count(up == 1)", "3");
    await_answer(&c, web, "sum(locus_pulled_keys_total)", "1800");
    await_answer(&c, web, "count(locus_worker_clock == 200)", "3");
    await_answer(
        &c, web,
        "count(histogram_quantile(0.99, sum by (le) (locus_blocked_seconds_bucket)) > 0 < 60)",
        "1");
    command_signal(&server, SIGTERM);
    command_wait(&server);
    for (int i = 0; i < NODES; i++) child_tell(&job, "end");
    child_wait(&job);
}

/* ---- a locale with a decimal comma ---- */

static void work_and_show(struct seat *s)
{
    work(s);
    get_page(base + (unsigned)s->rank, pages[s->rank]);
    seat_barrier(s);
}

/* Commas stand before names and quotation marks there, and never between digits. */
static void has_points(const char *what, const char *text)
{
    CHECK(strlen(text) > 100);
    for (const char *c = text; (c = strchr(c, ',')); c++)
        if (c > text && isdigit((unsigned char)c[-1]) && isdigit((unsigned char)c[1]))
            test_fail(__FILE__, __LINE__, "%s: %.60s", what, c - (c - text < 30 ? c - text : 30));
}

static void file_has_points(const char *folder, const char *name)
{
    size_t bytes;
    CLOSED_BY(free_at) char *text = folder_read(folder, name, &bytes);
    has_points(name, text);
}

/* Nor in what is read from the environment. */
TEST(metrics, locale_with_a_comma_changes_nothing_for_machines)
{
    const struct team t = team_of_three();
    char folder[FOLDER_PATH_BYTES], name[32];
    comma_choose();
    folder_new(folder);
    ask_for_metrics(NODES);
    CHECK_EQ(setenv("LOCUS_PEER_TIMEOUT", "7.5", 1), 0);
    CHECK_EQ(setenv("LOCUS_REPORT", folder_path(folder, "run"), 1), 0);
    CHECK_EQ(setenv("LOCUS_TRACE", folder_path(folder, "run"), 1), 0);
    team_run(&t, work_and_show);
    for (int n = 0; n < NODES; n++) has_points("/metrics", pages[n]);
    setlocale(LC_ALL, "C");
    CHECK(sample_of(pages[0], "process_cpu_seconds_total") > 0);
    for (int n = 0; n < NODES; n++) {
        snprintf(name, sizeof name, "run.%d.jsonl", n);
        file_has_points(folder, name);
        snprintf(name, sizeof name, "run.%d.report.jsonl", n);
        file_has_points(folder, name);
    }
}

/* ---- what waits ---- */

/* Rows of 4 KiB: what the one node owes the other is more than fits into the network. */
enum { ROWS = 900, WIDE = 1024, PORT = 9400 /* on each namespace */ };
static const struct locus_table wide = {.rows = ROWS, .length = WIDE};

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
    p->values = calloc((size_t)ROWS * WIDE, sizeof *p->values);
    CHECK(p->values != NULL);
    for (size_t i = 0; i < (size_t)ROWS * WIDE; i++) p->values[i] = 1;
    for (size_t i = 0; i < ROWS; i++) p->all[i] = i;
    p->owned = locus_owned(p->node, 0, p->own, ROWS);
    CHECK(p->owned > ROWS / NODES / 2);
    CHECK_EQ(locus_push(p->worker, p->own, p->owned, p->values), 0);
    CHECK_EQ(locus_barrier(p->worker), 0);
}

static void tell_sum(const char *name)
{
    static char page[PAGE_MAX];
    get_page(PORT, page);
    parent_tell("%.0f", sum_of(page, name));
}

/* Does the page of the key say so, at this node? */
static bool key_says(locus_key key, const char *text)
{
    static char page[PAGE_MAX];
    char question[64];
    snprintf(question, sizeof question, "GET /key?key=%llu HTTP/1.0\r\n\r\n",
             (unsigned long long)key);
    ask_port(PORT, question, page);
    return strstr(page, text) != NULL;
}

/* Rank 0, that one of its rows has gone to rank 2. It is pulled first, before the credit is used
 * up. */
static void hear_of_it(struct part *p)
{
    double until = now_s() + HANG_S;
    size_t i = 0;
    for (; !key_says(p->own[i], "\nowner 2 "); i = (i + 1) % p->owned) CHECK(now_s() < until);
    locus_key gone = p->own[i];
    p->own[i] = p->own[0];
    p->own[0] = gone;
    parent_tell("%llu", (unsigned long long)gone);
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
        AWAIT(stats_of(p->node).relocated_out > 0);
    } else if (strcmp(word, "hear of it") == 0) {
        hear_of_it(p);
        return;
    } else if (sscanf(word, "hold the request for %llu", &key) == 1) {
        AWAIT(key_says(key, "\nparked "));
    } else if (strcmp(word, "begin to pull") == 0) {
        CHECK_EQ(locus_pull_async(p->worker, p->own, p->owned, p->values, &ticket), 0);
    } else if (strcmp(word, "end") == 0) {
        CHECK_EQ(locus_wait_all(p->worker), 0);
        CHECK_EQ(locus_barrier(p->worker), 0);
    } else {
        tell_sum(word);
        return;
    }
    parent_tell("done");
}

ROLE(metrics_loaded)
{
    static struct part p;
    int rank;
    char listen[ADDRESS_BYTES], word[LINE_BYTES];
    struct team t = {TEAM_OF(NODES, 1, 1, LOCUS_RELOCATE, &wide, 1), .listen = listen,
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

static void start(struct namespaces *s, struct child c[NODES])
{
    char address[ADDRESS_BYTES], listen[ADDRESS_BYTES];
    namespaces_open(s, NODES);
    namespaces_rendezvous(address);
    for (int i = 0; i < NODES; i++) {
        namespaces_address(i, listen);
        namespaces_enter(s, i);
        child_start(&c[i], "metrics_loaded", "%d %s %s", i, address, listen);
        namespaces_leave(s);
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
TEST(metrics, bytes_asked_queued_and_parked_show_what_waits)
{
    CLOSED_BY(namespaces_close) struct namespaces s;
    struct child c[NODES];
    char held[LINE_BYTES];
    start(&s, c);
    order(&c[1], "fetch");
    namespaces_stall(&s, 1, 2, true);
    order(&c[2], "begin to fetch");
    order(&c[1], "let go");
    child_tell(&c[0], "hear of it");
    snprintf(held, sizeof held, "hold the request for %s", child_hear(&c[0]));
    order(&c[0], "begin to pull");
    order(&c[2], held);
    AWAIT(ask(&c[1], "locus_peer_queued_bytes{peer=\"2\"}") > 100000 &&
          ask(&c[0], "locus_peer_asked_bytes") > 0 && ask(&c[2], "locus_peer_asked_bytes") > 0);
    CHECK(ask(&c[2], "locus_parked_seconds_count") == 0);
    namespaces_stall(&s, 1, 2, false);
    for (int i = 0; i < NODES; i++) child_tell(&c[i], "end");
    for (int i = 0; i < NODES; i++) child_expect(&c[i], "done");
    CHECK(ask(&c[2], "locus_parked_seconds_count") > 0);
    for (int i = 0; i < NODES; i++) CHECK(ask(&c[i], "locus_peer_asked_bytes") == 0);
    for (int i = 0; i < NODES; i++) child_tell(&c[i], "close");
    for (int i = 0; i < NODES; i++) child_wait(&c[i]);
}

/* ---- clients of all kinds, while a node trains ---- */

enum { CROWD = 3 * HTTPD_CONNECTIONS_MAX };

static uint64_t steps;    /* atomic: so far */
static bool asked_to_end; /* atomic */

/* Adds 1 to few rows and to others, until it is asked to end. */
static void train(struct seat *s)
{
    const float one[LENGTH] = {1};
    while (!__atomic_load_n(&asked_to_end, __ATOMIC_ACQUIRE)) {
        locus_key keys[2] = {steps % 10, 10 + seat_random(s, KEYS - 10)};
        float rows[2 * LENGTH];
        locus_clock next = locus_advance_clock(s->worker) + 1;
        CHECK_EQ(locus_intent(s->worker, keys, 2, next, next + 2), 0);
        CHECK_EQ(locus_pull(s->worker, keys, 2, rows), 0);
        for (int i = 0; i < 2; i++) CHECK_EQ(locus_push(s->worker, &keys[i], 1, one), 0);
        __atomic_add_fetch(&steps, 1, __ATOMIC_RELEASE);
    }
    double sum = 0;
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
        sum += (double)row[0];
    }
    CHECK(sum == 2 * (double)steps);
}

static void *train_alone(void *unused)
{
    team_run(&(struct team){TEAM_OF(1, 1, 0, LOCUS_ADAPTIVE, &table, 1)}, train);
    return unused;
}

/* Until the node has gone on by so many steps. */
static void await_steps(uint64_t more)
{
    uint64_t from = __atomic_load_n(&steps, __ATOMIC_ACQUIRE);
    AWAIT(__atomic_load_n(&steps, __ATOMIC_ACQUIRE) >= from + more);
}

/* What a client sends, behind `first` something so often, and then nothing; it reads nothing. */
static const char request[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
static char block[1 << 16], noise[300];
static const struct kind {
    const char *first, *again;
    int times;
} kinds[] = {
    {request, request, 499},
    {"GET /metrics HTTP/1.1\r\nX-Long: ", block, 1}, /* without end */
    {"GET /metr", "", 0},
    {"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", block, 16},
    {noise, "", 0},
};

static int come(const struct kind *k)
{
    static unsigned seed = 1;
    int fd = dial(base), small = 2048;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    memset(block, 'a', sizeof block - 1);
    for (size_t i = 0; i + 1 < sizeof noise; i++) noise[i] = (char)(1 + rand_r(&seed) % 255);
    send(fd, k->first, strlen(k->first), MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; i < k->times; i++)
        send(fd, k->again, strlen(k->again), MSG_NOSIGNAL | MSG_DONTWAIT);
    return fd;
}

/* More of each kind than are held, all at once; then they leave, and one asks well. */
static void ask_in_all_ways(int times)
{
    int fd[CROWD];
    for (size_t k = 0; k < times * sizeof kinds / sizeof *kinds; k++) {
        for (unsigned i = 0; i < CROWD; i++)
            fd[i] = come(&kinds[k % (sizeof kinds / sizeof *kinds)]);
        await_steps(3);
        for (int i = 0; i < CROWD; i++) close(fd[i]);
        get_page(base, pages[0]);
    }
    for (int i = 0; i < 100 * times; i++) get_page(base, pages[0]);
}

/* Who trains looks at the sum. What a round needs is taken in the first; more of them take no more
 * than all connections may hold at once, however many came and went: some three thousand, with a
 * hundred megabytes. One node: what waits for others takes memory, too, by the load of the
 * machine. */
TEST(metrics, clients_of_all_kinds_take_bounded_memory_and_cost_no_update)
{
    enum { PAGE_BYTES = 1 << 15, ROUNDS = 5 };
    const long room_kb = HTTPD_CONNECTIONS_MAX * (HTTPD_CONNECTION_BYTES + PAGE_BYTES) / 1024;
    pthread_t thread;
    ask_for_metrics(1);
    CHECK_EQ(pthread_create(&thread, NULL, train_alone, NULL), 0);
    await_steps(100);
    ask_in_all_ways(1);
    struct footprint before = footprint_now();
    ask_in_all_ways(ROUNDS);
    struct footprint after = footprint_now();
    CHECK_EQ(after.threads, before.threads);
    CHECK(after.descriptors <= before.descriptors + HTTPD_CONNECTIONS_MAX);
    if (!IS_SANITIZED) CHECK(after.resident_kb - before.resident_kb < room_kb);
    __atomic_store_n(&asked_to_end, true, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
