/* `locus top`, looking at a job: as JSON, as a table, and on a terminal. */
#include "answering.h"
#include "command.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

enum { NODES = 2, KEYS = 64, LENGTH = 4 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* All rows of all nodes, again and again, until the parent says that it is enough. */
static void work(struct seat *s)
{
    static float rows[NODES][KEYS * LENGTH];
    static int ends; /* atomic */
    struct batch all = batch_of_all(s->node);
    char word[LINE_BYTES];
    for (locus_key k = 0; k < KEYS / 4; k++)
        CHECK_EQ(locus_intent(s->worker, &k, 1, 0, LOCUS_FOREVER), 0);
    seat_barrier(s);
    if (s->rank) {
        parent_tell("works");
        CHECK(parent_hear(word));
        __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
    }
    while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
        CHECK_EQ(locus_pull(s->worker, all.keys, all.n, rows[s->rank]), 0);
        locus_advance_clock(s->worker);
        sleep_s(0.001);
    }
    batch_free(&all);
    seat_barrier(s);
}

ROLE(top_job)
{
    const struct team t = {TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &table, 1)};
    CHECK_EQ(setenv("LOCUS_METRICS", arguments, 1), 0);
    team_run(&t, work);
}

static char base[ADDRESS_BYTES];

/* Rank 1 is at the port behind it. */
static void start(struct child *job)
{
    address_new_row(base, NODES);
    child_start(job, "top_job", "%s", base);
    child_expect(job, "works");
}

static void end(struct child *job)
{
    child_tell(job, "end");
    child_wait(job);
}

/* The number behind that name in the object of a rank; -1: there is none. */
static double field(const char *text, int rank, const char *name)
{
    char begin[64], label[64];
    snprintf(begin, sizeof begin, "\"rank\":%d,", rank);
    snprintf(label, sizeof label, "\"%s\":", name);
    const char *object = strstr(text, begin), *value = object ? strstr(object, label) : NULL;
    return value ? strtod(value + strlen(label), NULL) : -1;
}

/* It would look again and again, as fast as it can, for a key that nobody can press. */
TEST(top, wants_a_terminal)
{
    CLOSED_BY(end) struct child job;
    start(&job);
    CHECK_EQ(command_run(&c, "TERM=xterm timeout -s KILL %d %s top %s < /dev/null", HANG_S,
                         locus_path(), base),
             1);
    CHECK_STR(c.err.text, "no terminal: use --once");
}

/* Rank 0 works: half of its rows are its own. */
static bool shows_work(const char *text)
{
    double local = field(text, 0, "local_keys_per_second"),
           remote = field(text, 0, "remote_keys_per_second"),
           half = field(text, 0, "staleness_p50_seconds");
    return local > 0 && remote > 0.3 * local && local > 0.3 * remote &&
           field(text, 0, "clock") > 0 && half > 0 &&
           half <= field(text, 0, "staleness_p99_seconds") &&
           field(text, 0, "sent_bytes_per_second") > 0 && field(text, 0, "shard_cores") > 0;
}

/* On a busy machine nothing may happen for a second. Rank 1 waits. */
TEST(top, tells_what_a_job_does)
{
    struct child job;
    start(&job);
    double until = now_s() + HANG_S;
    do {
        if (now_s() > until) test_fail(__FILE__, __LINE__, "no work in: %s", c.out.text);
        command_must(&c, "%s top --json %s", locus_path(), base);
    } while (!shows_work(c.out.text));
    CHECK(field(c.out.text, 0, "owned_rows") + field(c.out.text, 1, "owned_rows") == KEYS);
    CHECK(field(c.out.text, 1, "local_keys_per_second") == 0);
    CHECK(field(c.out.text, 1, "answers") == 1);
    end(&job);
    CHECK_EQ(command_run(&c, "%s top --json --interval 0.1 %s", locus_path(), base), 1);
    CHECK(field(c.out.text, 0, "answers") == 0);
    CHECK_STR(c.out.text, "\"why\":\"nobody answers at 127.0.0.1:");
}

TEST(top, finds_the_jobs_of_this_user)
{
    CLOSED_BY(end) struct child job;
    struct command holder;
    start(&job);
    /* a process with the variable, as whatever started a job's nodes has it */
    command_start(&holder, COMMAND_FILES, "LOCUS_METRICS=%s exec sleep 600", base);
    char port[16];
    snprintf(port, sizeof port, "%s", strchr(base, ':'));
    for (double until = now_s() + HANG_S;; sleep_s(0.1)) {
        command_run(&c, "env -u LOCUS_METRICS %s top --json --interval 0.1", locus_path());
        if (strstr(c.out.text, port)) break;
        CHECK(now_s() < until);
    }
    command_signal(&holder, 9);
    command_wait(&holder);
}

TEST(top, is_a_table_on_a_terminal)
{
    CLOSED_BY(end) struct child job;
    start(&job);
    command_start(&c, COMMAND_TERMINAL, "exec %s top --interval 0.2 %s", locus_path(), base);
    command_await(&c, &c.out, "2 nodes, by rank");
    command_await(&c, &c.out, "keys/s");
    command_type(&c, "s");
    command_await(&c, &c.out, "accesses");
    command_type(&c, "n");
    command_await(&c, &c.out, "rounds/s");
    command_await(&c, &c.out, "credit");
    command_await(&c, &c.out, "replicas ");
    command_await(&c, &c.out, "/s  locus_pushed_keys place=\"local\"");
    command_type(&c, "k");
    command_await(&c, &c.out, "of calls");
    command_type(&c, "b");
    command_type(&c, " ");
    command_await(&c, &c.out, "frozen");
    command_type(&c, "q");
    CHECK_EQ(command_wait(&c), 0);
    command_must(&c, "%s top --once --interval 0.1 %s", locus_path(), base);
    CHECK_STR(c.out.text, "\n   0 ");
    CHECK_STR(c.out.text, "\n   1 ");
    for (double until = now_s() + HANG_S; !strstr(c.out.text, "local");) {
        command_must(&c, "%s top --keys --interval 0.2 %s", locus_path(), base);
        CHECK_STR(c.out.text, "node 0\n");
        CHECK(now_s() < until);
    }
}

TEST(top, says_what_it_cannot_do)
{
    char nobody[ADDRESS_BYTES];
    address_new(nobody);
    CHECK_EQ(command_run(&c, "%s top --interval never", locus_path()), 2);
    CHECK_STR(c.err.text, "locus top: --interval takes a number from 0.05 to 3600");
    CHECK_EQ(command_run(&c, "%s top --interval", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s top --wrong", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s top --keys --json", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s top --once --interval 0.1 %s", locus_path(), nobody), 1);
    CHECK_STR(c.out.text, "0 nobody answers at 127.0.0.1:");
    CHECK_EQ(command_run(&c, "%s top --keys --interval 0.1 %s", locus_path(), nobody), 1);
    CHECK_STR(c.out.text, "nobody answers at 127.0.0.1:");
    CHECK_EQ(command_run(&c, "%s top --once --interval 0.1 nonsense", locus_path()), 1);
    CHECK_STR(c.out.text, "nobody answers at nonsense: it is no HOST:PORT");
}

/* Whatever is there instead of a node is said, and nothing that it says moves the cursor. */
TEST(top, what_no_node_says_is_shown_as_text)
{
    static const struct {
        const char *answer, *shown;
    } all[] = {
        {"HTTP/1.0 500 Oh\r\n\r\nno \033[2Jmemory\n", "no \\x1b[2Jmemory (HTTP status 500)"},
        {"HTTP/1.0 500 Oh\r\n\r\n", "answers with HTTP status 500"},
        {"HTTP/1.0 404 Oh\r\n\r\nno\xC2\x9Bsuch path\n", "no\\xc2\\x9bsuch path"},
        {"HTTP/1.0 200 OK\r\n\r\nhello\n", "is no node of locus"},
        {"220 mail\r\n", "is no server of metrics"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned port = answering_start(all[i].answer);
        CHECK_EQ(command_run(&c, "%s top --once --interval 0.1 127.0.0.1:%u", locus_path(), port),
                 1);
        CHECK_STR(c.out.text, all[i].shown);
        CHECK(!strchr(c.out.text, '\033'));
    }
}

/* A node that answers nothing has no row, and is not passed over. */
TEST(top, says_how_many_nodes_are_missing)
{
    unsigned port = answering_start("HTTP/1.0 200 OK\r\n\r\n# \nlocus_nodes{rank=\"1\"} 4\n");
    CHECK_EQ(command_run(&c, "%s top --once --interval 0.1 127.0.0.1:%u", locus_path(), port), 1);
    CHECK_STR(c.err.text, "3 nodes more do not answer at the ports behind");
}

/* Two workers that waited for three seconds in all of one, as a long wait's end is told. */
TEST(top, no_worker_waits_longer_than_there_is_time)
{
    enum { BYTES = 512 };
    static char text[2][BYTES];
    for (int i = 0; i < 2; i++)
        snprintf(text[i], BYTES,
                 "HTTP/1.0 200 OK\r\n\r\n# \nlocus_nodes{rank=\"0\"} 1\n"
                 "locus_blocked_seconds_sum %d\nlocus_worker_clock{worker=\"0\"} 1\n"
                 "locus_worker_clock{worker=\"1\"} 1\n",
                 i * 1000);
    unsigned port = answering_turns(text[0], text[1]);
    command_must(&c, "%s top --once --interval 1 127.0.0.1:%u", locus_path(), port);
    CHECK_STR(c.out.text, " 100.0% ");
}
