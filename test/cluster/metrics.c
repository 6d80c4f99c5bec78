/*
 * What a node tells over HTTP (LOCUS_METRICS): it is what locus_stats and the histograms say, a
 * real Prometheus takes it, and every metric is moved by something. Whoever knocks at the port is in
 * knocking.c.
 */
#include "command.h"
#include "common/folder.h"
#include "scraping.h"
#include "team.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { NODES = 3, KEYS = 300, LENGTH = 8 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

static unsigned base; /* node r is at base + r */

static void ask_for_metrics(void)
{
    base = scraping_ports(NODES);
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
    TOLD("locus_advice_total{what=\"intend\"}", advice_intend),
    TOLD("locus_kept_keys", kept_now),
};
enum { TOLD_COUNT = sizeof all_told / sizeof *all_told };

static uint64_t counted(const struct locus_stats *s, const struct told *t)
{
    uint64_t value;
    memcpy(&value, (const char *)s + t->at, sizeof value);
    return value;
}

static void compare(const struct locus_stats *s, const char *page)
{
    for (size_t i = 0; i < TOLD_COUNT; i++) {
        double value = scraping_sample(page, all_told[i].name);
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

/* Heartbeats and rounds go on. */
static void is_between(double told, uint64_t before, uint64_t after)
{
    CHECK(told >= (double)before && told <= (double)after);
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
    static char pages[NODES][PAGE_MAX];
    char *page = pages[s->rank];
    work(s);
    struct locus_stats before, after;
    const double until = now_s() + HANG_S;
    /* Shards that are late still drop or move rows. */
    do {
        CHECK(now_s() < until);
        before = stats_of(s->node);
        scraping_get(base + (unsigned)s->rank, page);
        after = stats_of(s->node);
    } while (!is_at_rest(&before, &after));
    compare(&after, page);
    compare_ages(s->node);
    is_between(scraping_sum(page, "locus_sent_bytes_total{"), before.bytes_sent, after.bytes_sent);
    is_between(scraping_sum(page, "locus_received_bytes_total{"), before.bytes_received,
               after.bytes_received);
    is_between(scraping_sum(page, "locus_sent_frames_total{"), before.messages_sent,
               after.messages_sent);
    is_between(scraping_sum(page, "locus_received_frames_total{"), before.messages_received,
               after.messages_received);
    is_between(scraping_sample(page, "locus_rounds_total"), before.rounds, after.rounds);
    CHECK(scraping_sample(page, "locus_worker_clock{worker=\"0\"}") == 200);
    CHECK(scraping_sample(page, "locus_blocked_seconds_count") > 0);
    seat_barrier(s);
}

TEST(metrics, are_what_the_node_counts)
{
    const struct team t = team_of_three();
    ask_for_metrics();
    team_run(&t, compare_at_rest);
}

/* ---- none is always zero ---- */

static char shown[4 * PAGE_MAX];

/* Of advice, in seconds. A node looks whether 1024 keys were elsewhere in one: where it is slow, it
 * takes a longer one. */
static const double windows[] = {0.02, 0.1, 0.5, 2, 2};
enum { RUNS = sizeof windows / sizeof *windows, WINDOWS_ENOUGH = 10 };
static double window;

/* Many keys, of which intent names one, until that is noticed, or the window was too short. Always
 * the same one: were it one of the step's, all rows would have come here after a while, on a node
 * that is slow. */
static void need_advice(struct seat *s)
{
    static float rows[NODES][64 * LENGTH];
    const locus_key own = (locus_key)s->rank;
    locus_key keys[64];
    const double end = now_s() + WINDOWS_ENOUGH * window;
    while (stats_of(s->node).advice_intend == 0 && now_s() < end) {
        for (int i = 0; i < 64; i++) keys[i] = seat_random(s, KEYS);
        locus_clock next = locus_advance_clock(s->worker) + 1;
        CHECK_EQ(locus_intent(s->worker, &own, 1, next, next + 1), 0);
        CHECK_EQ(locus_pull(s->worker, keys, 64, rows[s->rank]), 0);
    }
}

static void collect(struct seat *s)
{
    work(s);
    for (int i = 0; i < 10; i++) {
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_bound(s->worker, i % 2), 0);
    }
    need_advice(s);
    if (s->rank == 0)
        for (unsigned r = 0; r < NODES; r++) scraping_get(base + r, shown + strlen(shown));
    seat_barrier(s);
}

static bool is_home(const struct seat *s, locus_key key)
{
    locus_key own[KEYS];
    size_t owned = locus_owned(s->node, 0, own, KEYS), i = 0;
    while (i < owned && own[i] != key) i++;
    return i < owned;
}

/* With a bound that is shorter than any node's silence: who pulls a replica asks its owner. */
static void collect_too_old(struct seat *s)
{
    static char pages[NODES][PAGE_MAX];
    float row[LENGTH];
    locus_key key = 0;
    const double end = now_s() + HANG_S;
    CHECK_EQ(locus_intent(s->worker, &key, 1, 0, LOCUS_FOREVER), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
    while (!is_home(s, key) && stats_of(s->node).pulled_too_old == 0) {
        CHECK(now_s() < end);
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
    }
    scraping_get(base + (unsigned)s->rank, pages[s->rank]);
    CHECK(scraping_sample(pages[s->rank], "locus_too_old_keys_total") ==
          (double)stats_of(s->node).pulled_too_old);
    seat_barrier(s);
    for (int r = 0; r < NODES && s->rank == 0; r++) strcat(shown, pages[r]);
}

static void collect_quietly(struct seat *s)
{
    if (s->rank == 0) scraping_get(base, shown);
    seat_barrier(s);
}

/* Is there a sample of that name, of any labels, that is not zero? */
static bool is_moved(const char *name, size_t n)
{
    for (const char *line = shown; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) != 0 || strchr("{ _", line[n]) == NULL) continue;
        const char *value = strchr(line, ' ');
        if (value && strtod(value, NULL) != 0) return true;
    }
    return false;
}

/* What is zero unless the network is slow: loads.c makes it so. */
static bool is_of_what_waits(const char *name, size_t n)
{
    static const char *const names[] = {"locus_parked_seconds", "locus_peer_asked_bytes",
                                        "locus_peer_queued_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0) return true;
    return false;
}

/* Links through memory need some room there. */
static bool is_of_memory_that_lacks(const char *name, size_t n)
{
    static const char shares[] = "locus_peer_shares_memory";
    struct statvfs room;
    return n == sizeof shares - 1 && memcmp(name, shares, n) == 0 &&
           (access("/dev/shm", W_OK) || statvfs("/dev/shm", &room) ||
            room.f_bavail * room.f_frsize < 4 << 20);
}

/* The first metric that nothing has moved. */
static const char *first_still(char name[64])
{
    for (const char *line = shown; (line = strstr(line, "# TYPE "));) {
        line += 7;
        size_t n = strcspn(line, " ");
        snprintf(name, 64, "%.*s", (int)n, line);
        if (is_of_what_waits(line, n) || is_of_memory_that_lacks(line, n)) continue;
        if (!is_moved(line, n)) return name;
    }
    return NULL;
}

/* Advice is given after ten seconds unless the environment says so: this test asks for it soon. Who
 * waits for whom, and which request is forwarded, is chance: it may take another run. */
TEST(metrics, are_all_moved)
{
    if (IS_SANITIZED) SKIP("advice judges what is accessed in a time: too little with a sanitizer");
    struct team t = team_of_three();
    char still[64] = "everything", text[16];
    unsigned names = 0;
    ask_for_metrics();
    for (int i = 0; i < RUNS && (i == 0 || first_still(still)); i++) {
        window = windows[i];
        snprintf(text, sizeof text, "%g", window);
        setenv("LOCUS_ADVICE", text, 1);
        *shown = '\0';
        t.staleness_s = 0;
        setenv("LOCUS_CARRIER", "", 1);
        team_run(&t, collect);
        t.staleness_s = 1e-6;
        setenv("LOCUS_CARRIER", "tcp", 1);
        team_run(&t, collect_too_old);
    }
    if (first_still(still)) test_fail(__FILE__, __LINE__, "%s is zero", still);
    for (const char *line = shown; (line = strstr(line, "# TYPE ")); line++) names++;
    CHECK(names >= NODES * 40);
}

/* Every name is in docs/reference/metrics.md, and the dashboard has no other. */
TEST(metrics, are_in_the_manual)
{
    struct team t = team_of_three();
    struct command c;
    t.staleness_s = 1;
    if (access("docs/reference/metrics.md", R_OK)) SKIP("this is not run in the source tree");
    ask_for_metrics();
    *shown = '\0';
    team_run(&t, collect_quietly);
    for (const char *line = shown; (line = strstr(line, "# TYPE "));) {
        line += 7;
        command_must(&c, "grep -q '`%.*s`' docs/reference/metrics.md", (int)strcspn(line, " "),
                     line);
    }
    command_must(&c, "grep -oE '(locus|process)_[a-z_]+' docs/reference/grafana.json | sort -u");
    for (char *name = strtok(c.out.text, "\n"); name; name = strtok(NULL, "\n"))
        if (!strstr(shown, name)) test_fail(__FILE__, __LINE__, "no metric is called %s", name);
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

static const char script[] =
    "import json,sys,time,urllib.request,urllib.parse\n"
    "port=sys.argv[1]\n"
    "def ask(q):\n"
    "    u='http://127.0.0.1:%s/api/v1/query?query=%s' % (port, urllib.parse.quote(q))\n"
    "    return json.load(urllib.request.urlopen(u))['data']['result']\n"
    "end=time.time()+140\n"
    "while time.time()<end:\n"
    "    try:\n"
    "        if len(ask('up==1'))==3 and len(ask('count_over_time(locus_rounds_total[1m])>=2'))==3: break\n"
    "    except OSError: pass\n"
    "    time.sleep(0.2)\n"
    "print('up',len(ask('up==1')))\n"
    "print('pulled',ask('sum(locus_pulled_keys_total)')[0]['value'][1])\n"
    "print('clocks',len(ask('locus_worker_clock==200')))\n"
    "q=ask('histogram_quantile(0.99, sum by (le) (locus_blocked_seconds_bucket))')[0]['value'][1]\n"
    "print('p99', 0<float(q)<60)\n";

TEST(metrics, are_taken_by_prometheus)
{
    char folder[FOLDER_PATH_BYTES], web[ADDRESS_BYTES];
    struct child job[1];
    struct command server, c;
    if (command_run(&c, "command -v prometheus && command -v promtool"))
        SKIP("there is no prometheus here");
    folder_new(folder);
    ask_for_metrics();
    address_new(web);
    command_must(
        &c,
        "printf 'global: {scrape_interval: 200ms}\\nscrape_configs:\\n- job_name: locus\\n"
        "  static_configs: [{targets: [\"127.0.0.1:%u\", \"127.0.0.1:%u\", \"127.0.0.1:%u\"]}]\\n'"
        " > %s/prometheus.yml && promtool check config %s/prometheus.yml",
        base, base + 1, base + 2, folder, folder);
    child_start(job, "metrics_job", "now");
    for (int i = 0; i < NODES; i++) child_expect(job, "works");
    command_must(
        &c,
        "python3 -c 'import urllib.request,sys; "
        "sys.stdout.write(urllib.request.urlopen(\"http://127.0.0.1:%u/metrics\").read().decode())' "
        "| promtool check metrics",
        base);
    command_start(&server, COMMAND_FILES,
                  "exec prometheus --config.file=%s/prometheus.yml --storage.tsdb.path=%s/data "
                  "--web.listen-address=%s",
                  folder, folder, web);
    command_must(&c, "python3 -c \"%s\" %s", script, strchr(web, ':') + 1);
    CHECK_STR(c.out.text, "up 3");
    CHECK_STR(c.out.text, "pulled 1800\n");
    CHECK_STR(c.out.text, "clocks 3");
    CHECK_STR(c.out.text, "p99 True");
    command_signal(&server, SIGTERM);
    command_wait(&server);
    for (int i = 0; i < NODES; i++) child_tell(job, "end");
    child_wait(job);
}

/* ---- where ---- */

TEST(metrics, cost_no_thread_when_nobody_asks)
{
    const struct team t = {TEAM_OF(1, 1, 0, LOCUS_STATIC, &table, 1)};
    unsetenv("LOCUS_METRICS");
    struct footprint before = footprint_now();
    locus *node = team_open(&t, 0);
    CHECK_EQ(footprint_now().threads, before.threads);
    CHECK_EQ(locus_close(node), 0);
}
