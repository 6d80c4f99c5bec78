/*
 * `locus explain`, asking a job in which a key moves, is copied, follows its last intent, and is
 * localized; and what it says where there is nothing to ask.
 */
#include "answering.h"
#include "command.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

enum { NODES = 3, ROWS = 40, LENGTH = 4 };
static const struct locus_table tables[] = {{.name = "users", .rows = ROWS, .length = LENGTH},
                                            {.name = "a:b c", .rows = ROWS, .length = LENGTH}};

/* ---- the job ---- */

static locus_key key; /* of the second table; its home is node 0 */
static char step[LINE_BYTES];

static void go_to_clock(struct seat *s, locus_clock to)
{
    while (locus_current_clock(s->worker) < to) locus_advance_clock(s->worker);
}

static void await_local(struct seat *s)
{
    float row[LENGTH];
    while (locus_pull_local(s->worker, key, row)) sleep_s(0.001);
}

static locus_key own_key(locus *node)
{
    locus_key owned[2 * ROWS];
    size_t n = locus_owned(node, ROWS, owned, 2 * ROWS);
    CHECK(n > 0);
    return owned[0];
}

static void intend(struct seat *s, locus_clock start, locus_clock end)
{
    CHECK_EQ(locus_intent(s->worker, &key, 1, start, end), 0);
}

/* What a node does in the step of that name. */
static void act(struct seat *s)
{
    float row[LENGTH] = {1};
    if (strcmp(step, "move") == 0 && s->rank == 2) {
        go_to_clock(s, 118);
        intend(s, 118, 140);
        await_local(s);
    }
    if (strcmp(step, "copy") == 0 && s->rank == 1) {
        intend(s, 0, 900);
        await_local(s);
        CHECK_EQ(locus_push(s->worker, &key, 1, row), 0);
    }
    if (strcmp(step, "follow") == 0 && s->rank == 2) go_to_clock(s, 140);
    if (strcmp(step, "idle") == 0 && s->rank == 1) go_to_clock(s, 900);
    if (strcmp(step, "localize") == 0 && s->rank == 0)
        CHECK_EQ(locus_localize(s->worker, &key, 1), 0);
}

/* Rank 0 hears which step is next, and all take it. */
static void work(struct seat *s)
{
    if (s->rank == 0) {
        key = own_key(s->node);
        parent_tell("%llu", (unsigned long long)key - ROWS);
    }
    for (bool is_last = false; !is_last;) {
        if (s->rank == 0 && !parent_hear(step)) snprintf(step, sizeof step, "end");
        seat_barrier(s);
        act(s);
        is_last = strcmp(step, "end") == 0;
        CHECK_EQ(locus_quiesce(s->worker), 0);
        if (s->rank == 0) parent_tell("done");
        seat_barrier(s);
    }
}

ROLE(explain_job)
{
    const struct team t = {TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, tables, 2)};
    if (strcmp(arguments, "off") != 0) CHECK_EQ(setenv("LOCUS_METRICS", arguments, 1), 0);
    team_run(&t, work);
}

/* ---- who asks ---- */

static char base[ADDRESS_BYTES];
static unsigned row_asked;

static void start(struct child *job)
{
    address_new_row(base, NODES);
    child_start(job, "explain_job", "%s", base);
    row_asked = (unsigned)atoi(child_hear(job));
}

static void take_step(struct child *job, const char *name)
{
    child_tell(job, name);
    child_expect(job, "done");
}

static void end(struct child *job)
{
    take_step(job, "end");
    child_wait(job);
}

static void ask(const char *options)
{
    command_must(&c, "%s explain %s 'a:b c:%u' %s", locus_path(), options, row_asked, base);
}

/* What is decided in rounds may take a moment. */
static void await_answer(const char *options, const char *text)
{
    for (double until = now_s() + HANG_S;; sleep_s(0.02)) {
        ask(options);
        if (strstr(c.out.text, text)) return;
        if (now_s() > until) fputs(c.out.text, stderr);
        CHECK(now_s() < until);
    }
}

TEST(explain, tells_a_keys_life)
{
    CLOSED_BY(end) struct child job;
    start(&job);
    ask("");
    CHECK_STR(c.out.text, "table a:b c, row ");
    CHECK_STR(c.out.text, "main copy   node 0; it has never moved, its home\n");
    CHECK_STR(c.out.text,
              "replicas    none\nintended    by nobody\ndecisions   none is remembered");

    take_step(&job, "move");
    ask("");
    CHECK_STR(c.out.text, "main copy   node 2; moved 1 time; home is node 0\n");
    CHECK_STR(c.out.text, "node 2, worker 0: clocks 118 to 140, active; its clock is 118\n");
    CHECK_STR(c.out.text, "moved 0 -> 2: only node 2 intends it, clocks 118 to 140\n");

    take_step(&job, "copy");
    ask("");
    CHECK_STR(c.out.text, "replicas    node 1: its owner was heard ");
    CHECK_STR(c.out.text, "node 1, worker 0: clocks 0 to 900, active; its clock is 0\n");
    CHECK_STR(c.out.text, "copied 2 -> 1: node 2 intends it, too, clocks 0 to 900\n");

    take_step(&job, "follow");
    await_answer("", "moved 2 -> 1: only node 1 still intends it, clocks 0 to 900\n");
    CHECK_STR(c.out.text, "main copy   node 1; moved 2 times; home is node 0\nreplicas    none\n");
    CHECK(!strstr(c.out.text, "node 2, worker"));

    take_step(&job, "idle");
    await_answer("", "intended    by nobody\n");
    take_step(&job, "localize");
    ask("");
    CHECK_STR(c.out.text, "main copy   node 0; moved 3 times, its home\n");
    CHECK_STR(c.out.text, "moved 1 -> 0: a worker of node 0 asked for it by locus_localize");
    CHECK_STR(c.out.text, "moved 0 -> 2: only node 2 intends it, clocks 118 to 140\n");
}

TEST(explain, is_json_for_scripts)
{
    char text[LINE_BYTES];
    CLOSED_BY(end) struct child job;
    start(&job);
    take_step(&job, "move");
    take_step(&job, "copy");
    ask("--json");
    snprintf(
        text, sizeof text,
        "{\"event\":\"key\",\"table\":\"a:b c\",\"row\":%u,\"key\":%u,\"technique\":"
        "\"adaptive\",\"owner\":2,\"is_there\":1,\"home\":0,\"moves\":1,\"parked\":0,\"nodes\":3,"
        "\"answers\":3}\n",
        row_asked, row_asked + ROWS);
    CHECK_STR(c.out.text, text);
    CHECK_STR(c.out.text, "{\"event\":\"replica\",\"node\":1,\"heard_seconds_ago\":");
    CHECK_STR(c.out.text, "{\"event\":\"intent\",\"node\":2,\"worker\":0,\"is_active\":1,\"start\":"
                          "\"118\",\"end\":\"140\",\"clock\":118}\n");
    CHECK_STR(c.out.text, "{\"event\":\"decision\",\"what\":\"moved\",\"seconds_ago\":");
    command_must(&c, "%s explain --wait 0.1 %u %s", locus_path(), row_asked + ROWS, base);
    CHECK_STR(c.out.text, "main copy   node 2");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    CHECK_EQ(command_run(&c, "env -u LOCUS_METRICS %s explain %s", locus_path(), arguments),
             status);
    CHECK_STR(c.err.text, part);
    CHECK_EQ(c.out.length, 0);
}

TEST(explain, says_what_it_cannot_tell)
{
    char line[LINE_BYTES];
    struct child job;
    start(&job);
    snprintf(line, sizeof line, "items:7 %s", base);
    is_refused(1, line, "locus explain: there is no table \"items\"; there are: users, a:b c\n");
    snprintf(line, sizeof line, "users:40 %s", base);
    is_refused(1, line, "table \"users\" has no row 40: its rows are 0 to 39\n");
    snprintf(line, sizeof line, "80 %s", base);
    is_refused(1, line, "there is no key 80: keys are 0 to 79\n");
    /* rank 1 alone: what is missing is said, and the status is that of top */
    unsigned port = (unsigned)atoi(strchr(base, ':') + 1);
    CHECK_EQ(command_run(&c, "%s explain 0 127.0.0.1:%u", locus_path(), port + 1), 1);
    CHECK_STR(c.out.text, "1 of 3 nodes have answered: give HOST:PORT of the others, too\n");
    end(&job);
    snprintf(line, sizeof line, "7 %s", base);
    is_refused(1, line, "nobody answers at 127.0.0.1:");
    is_refused(2, "", "which key?");
    is_refused(2, "seven", "\"seven\" is no key: write a number, or TABLE:ROW");
    is_refused(2, "users: 127.0.0.1:1", "\"users:\" is no key");
    is_refused(2, "99999999999999999999", "is no key");
    is_refused(2, "--wait never 7", "--wait takes a number from 0 to 60");
    is_refused(2, "--bogus", "there is no option \"--bogus\"");
}

/* Without LOCUS_METRICS a job has no port, and remembers nothing. */
TEST(explain, needs_metrics)
{
    CLOSED_BY(end) struct child job;
    child_start(&job, "explain_job", "off");
    child_hear(&job);
    take_step(&job, "move");
    command_run(&c, "env -u LOCUS_METRICS %s explain 7", locus_path());
    /* other tests' jobs may serve metrics here, and may just have ended */
    if (c.out.length == 0 && !strstr(c.err.text, "several jobs") &&
        !strstr(c.err.text, "nobody answers") && !strstr(c.err.text, "there is no key"))
        CHECK_STR(c.err.text, "start it with LOCUS_METRICS=127.0.0.1:9400");
}

/* ---- nodes that say something odd ---- */

static void says(const char *answer, int status, const char *part)
{
    unsigned port = answering_start(answer);
    CHECK_EQ(command_run(&c, "%s explain 7 127.0.0.1:%u", locus_path(), port), status);
    CHECK_STR(status ? c.err.text : c.out.text, part);
    CHECK(!strchr(c.out.text, '\033') && !strchr(c.err.text, '\033'));
}

TEST(explain, what_no_node_says_is_a_sentence)
{
    says("HTTP/1.0 500 Oh\r\n\r\n", 1, "answers with HTTP status 500");
    says("HTTP/1.0 503 Oh\r\n\r\nshard \0331 sleeps\n", 1, "shard \\x1b1 sleeps (HTTP status 503)");
    says("HTTP/1.0 200 OK\r\n\r\nlocus-key 9\n", 1, "is not to be understood");
    says("HTTP/1.0 200 OK\r\n\r\nlocus-key 1\nnode 0 1 adaptive\nkey 7 7 us\033[2Jers\nhome 0\n"
         "place main\nowner 0 0\nintends 0\nend\n",
         0, "table us\\x1b[2Jers, row 7");
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; (text = strchr(text, '\n')); text++) n++;
    return n;
}

/* As many lines as a person reads, in an order, one for a worker, and how many there are. */
TEST(explain, a_hot_key_is_a_dozen_lines)
{
    enum { HOLDERS = 64, INTENTS = 32, BYTES = 16384 };
    static char text[BYTES];
    size_t n = (size_t)snprintf(text, BYTES,
                                "HTTP/1.0 200 OK\r\n\r\nlocus-key 1\nnode 0 1 adaptive\n"
                                "key 7 7 users\nhome 0\nplace main\nowner 0 0\nintends 1\n");
    for (unsigned i = 0; i < INTENTS; i++)
        n += (size_t)snprintf(text + n, BYTES - n, "intent %s worker %u now 1 clocks %s\n",
                              i % 2 ? "active" : "waiting", (INTENTS - 1 - i) / 2,
                              i % 2 ? "7 9" : "8 11");
    for (unsigned i = 0; i < HOLDERS; i++)
        n += (size_t)snprintf(text + n, BYTES - n, "holder %u %u %s\n", i + 1,
                              1000000 * (1 + i * 7 % HOLDERS), i < 5 ? "behind" : "current");
    snprintf(text + n, BYTES - n, "more-holders 6\nend\n");
    unsigned port = answering_start(text);
    command_must(&c, "%s explain 7 127.0.0.1:%u", locus_path(), port);
    CHECK_STR(c.out.text, "replicas    node 10: row brought 64.0 s ago");
    CHECK_STR(c.out.text,
              "s ago, all updates sent\n            and 67 more; 70 in all, updates are "
              "waiting to be sent to 5 or more\n");
    CHECK_STR(c.out.text, "intended    node 0, worker 0: 2 intents, clocks 7 to 11, 1 active");
    CHECK_STR(c.out.text, "worker 2: 2 intents, clocks 7 to 11, 1 active; its clock is 1\n         "
                          "   and 26 more; 32 in all, 16 of them active\n");
    CHECK_EQ(count_lines(c.out.text), 11);
}
