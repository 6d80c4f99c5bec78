/* trace: the history of chosen keys, as their shards' events tell it. */
#include "observe/trace.h"

#include "common/folder.h"
#include "protocol/clocks.h"
#include "protocol/world.h"
#include "test.h"
#include "locus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 2, KEYS = 100 };

/* Two nodes that trace into a folder. */
struct stage {
    char folder[FOLDER_PATH_BYTES];
    struct world *world;
    struct trace *trace[NODES];
    locus_key key; /* at home at node 0 */
};

static void say_where(struct stage *s, const char *keys)
{
    char prefix[FOLDER_PATH_BYTES + 8];
    folder_new(s->folder);
    snprintf(prefix, sizeof prefix, "%s/run", s->folder);
    CHECK_EQ(setenv("LOCUS_TRACE", prefix, 1), 0);
    if (keys)
        CHECK_EQ(setenv("LOCUS_TRACE_KEYS", keys, 1), 0);
    else
        CHECK_EQ(unsetenv("LOCUS_TRACE_KEYS"), 0);
}

static struct world *world_of_100_keys(void)
{
    return world_open((struct world_config){LOCUS_ADAPTIVE, NODES, .keys = KEYS});
}

static int trace_of(const struct world *w, unsigned node, struct trace **out)
{
    const struct shard *s = &w->node[node].shard;
    return trace_open(s->store, s->technique->name, out);
}

static void open_stage(struct stage *s, const char *keys)
{
    say_where(s, keys);
    s->world = world_of_100_keys();
    s->key = world_key(s->world, 0);
    for (unsigned i = 0; i < NODES; i++) {
        struct shard *shard = &s->world->node[i].shard;
        CHECK((shard->events = events_new()) != NULL);
        CHECK_EQ(trace_of(s->world, i, &s->trace[i]), 0);
        trace_follow(s->trace[i], 0, shard->events);
    }
}

/* Everything arrives, and the traces take it. */
static void quiesce(struct stage *s)
{
    world_pass(s->world, 10, WORLD_MS);
    for (unsigned i = 0; i < NODES; i++) trace_take(s->trace[i], s->world->now_ns);
}

static void add_ones(struct stage *s, unsigned node, int times)
{
    while (times-- > 0) CHECK(row_add(world_ref(s->world, node, s->key), world_ones) >= 0);
    quiesce(s);
}

static void close_traces(struct stage *s)
{
    for (unsigned i = 0; i < NODES; i++) trace_close(s->trace[i]);
    world_free(&s->world);
}

/* A node's file without its times and quotes: what stands behind `"k":key,` of each line of the key,
 * in order. */
static void read_key(const struct stage *s, unsigned node, char *found, size_t capacity)
{
    char name[32], mark[32];
    snprintf(name, sizeof name, "run.%u.jsonl", node);
    snprintf(mark, sizeof mark, "\"k\":%u,", (unsigned)s->key);
    size_t length;
    CLOSED_BY(free_at) char *text = folder_read(s->folder, name, &length);
    length = 0;
    for (char *at = text; (at = strstr(at, mark)); found[length++] = ';')
        for (at += strlen(mark); !strchr("}\n", *at); at++) {
            CHECK(length + 2 < capacity);
            if (*at != '"') found[length++] = *at;
        }
    found[length] = '\0';
}

/* ---- a key's life ---- */

static void moves(struct stage *s)
{
    add_ones(s, 0, 2);
    world_intend(s->world, 1, 0, s->key, 0, 10);
    quiesce(s);
    add_ones(s, 1, 3);
    s->world->node[1].clock[0] = 10;
}

static void is_shared(struct stage *s)
{
    world_intend(s->world, 0, 0, s->key, 0, 10);
    world_intend(s->world, 1, 0, s->key, 0, 10);
    quiesce(s);
    add_ones(s, 0, 5);
    add_ones(s, 1, 7);
}

static void is_asked_for(struct stage *s)
{
    static const enum request_kind kind[3] = {REQUEST_PULL, REQUEST_PUSH, REQUEST_SET};
    for (unsigned i = 0; i < 3; i++) {
        world_run(s->world, 1, kind[i], s->key, 0);
        quiesce(s);
    }
}

static void is_kept(struct stage *s)
{
    world_event(s->world, 1, INTENT_KEEPS, s->key);
    quiesce(s);
    world_event(s->world, 1, INTENT_UNKEEPS, s->key);
}

/* Behind a star: the end alone. */
static bool is_as(const char *found, const char *expected)
{
    size_t all = strlen(found), end = strlen(expected + 1);
    if (*expected != '*') return strcmp(found, expected) == 0;
    return all >= end && strcmp(found + all - end, expected + 1) == 0;
}

/* s: where the row is; i: whether it is intended; w: changes of the row here, also by what comes
 * from the other node; p, q: pulled and written elsewhere. */
TEST(trace, notes_a_keys_life_on_each_node)
{
    static const struct {
        void (*live)(struct stage *);
        const char *found[NODES];
    } cases[] = {
        {moves, {"s:O,i:0;w:2,p:0,q:0;s:.,i:0;", "s:.,i:0;s:.,i:1;s:O,i:1;w:3,p:0,q:0;s:O,i:0;"}},
        {is_shared, {"*w:5,p:0,q:0;w:1,p:0,q:0;", "s:.,i:0;s:.,i:1;s:r,i:1;w:7,p:0,q:0;"}},
        {is_asked_for,
         {"s:O,i:0;w:1,p:0,q:0;w:1,p:0,q:0;", "s:.,i:0;w:0,p:1,q:0;w:0,p:0,q:1;w:0,p:0,q:1;"}},
        {is_kept, {"*", "s:.,i:0;s:.,i:2;s:r,i:2;s:r,i:0;s:.,i:0;"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s;
        char found[4096];
        open_stage(&s, "0-99");
        quiesce(&s);
        cases[i].live(&s);
        quiesce(&s);
        close_traces(&s);
        for (unsigned node = 0; node < NODES; node++) {
            read_key(&s, node, found, sizeof found);
            if (!is_as(found, cases[i].found[node]))
                test_fail(__FILE__, __LINE__, "case %d, node %u\n  expected  %s\n  found     %s",
                          (int)i, node, cases[i].found[node], found);
        }
    }
}

/* It ends when node 0, which has no workers, has heard and said how far this one is. */
TEST(trace, notes_a_wait_for_a_clock)
{
    static const locus_clock clock = 1, *const progress[] = {&clock};
    static struct request wait;
    struct stage s;
    size_t length;
    open_stage(&s, "0-99");
    quiesce(&s);
    world_request(&wait, 0, REQUEST_CLOCK, NULL, 0);
    wait.clock = clock;
    s.world->node[1].plan.progress = progress;
    CHECK(shard_serve(&s.world->node[1].shard, &wait));
    quiesce(&s);
    CHECK(!wait.busy);
    close_traces(&s);
    CLOSED_BY(free_at) char *text = folder_read(s.folder, "run.1.jsonl", &length);
    const char *begun = strstr(text, "\"h\":0,\"b\":1}"), *over = strstr(text, "\"h\":0,\"b\":0}");
    CHECK(begun && over && begun < over);
}

/* The ring is full before the trace looks: where the row is, the directory says; and how many events
 * are lost, the file. */
TEST(trace, finds_the_row_though_its_events_are_lost)
{
    struct stage s;
    char found[256];
    size_t length;
    open_stage(&s, "0-99");
    quiesce(&s);
    world_intend(s.world, 1, 0, s.key, 0, 10);
    world_pass(s.world, 10, WORLD_MS);
    for (int i = 0; i < EVENTS_KEPT + 100; i++)
        events_note(s.world->node[1].shard.events, &(struct key_event){.index = EVENT_OF_NO_KEY});
    quiesce(&s);
    close_traces(&s);
    read_key(&s, 1, found, sizeof found);
    CHECK_STR(found, "s:.,i:0;s:O,i:0;");
    CLOSED_BY(free_at) char *text = folder_read(s.folder, "run.1.jsonl", &length);
    CHECK(strstr(text, "\"lost\":1") && !strstr(text, "\"lost\":0}"));
}

/* ---- which keys ---- */

/* How many keys the two nodes trace with this choice: each notes every key at the first look. */
static int keys_traced(const char *choice)
{
    struct stage s;
    int lines = 0;
    size_t length;
    open_stage(&s, choice);
    quiesce(&s);
    close_traces(&s);
    char *text = folder_read(s.folder, "run.1.jsonl", &length);
    for (char *at = text; (at = strstr(at, "\"k\":")); at++) lines++;
    free(text);
    return lines;
}

TEST(trace, keys_are_those_of_LOCUS_TRACE_KEYS)
{
    static const struct {
        const char *choice;
        int least, most;
    } cases[] = {{"7", 1, 1},        {"1,2,7-9", 5, 5},     {"5-9,7,8-12", 8, 8}, {"99,0", 2, 2},
                 {"sample:1", 1, 1}, {"sample:40", 21, 40}, {NULL, 9, KEYS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int keys = keys_traced(cases[i].choice);
        if (keys < cases[i].least || keys > cases[i].most)
            test_fail(__FILE__, __LINE__, "%d keys of %s", keys,
                      cases[i].choice ? cases[i].choice : "the default");
    }
}

TEST(trace, open_refuses_keys_that_cannot_be)
{
    static const char *const cases[][2] = {{"x"},
                                           {"1,"},
                                           {"1-"},
                                           {"9-7"},
                                           {"1;2"},
                                           {"sample:"},
                                           {"sample:0"},
                                           {"sample:1001"},
                                           {"-1"},
                                           {"1 2"},
                                           {"0-99999999999999999999"},
                                           {"sample:5x"},
                                           {"100", "\"100\": keys end at 99"},
                                           {"50-100", "-100\": keys end at 99"}};
    CLOSED_BY(world_free) struct world *w = world_of_100_keys();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s;
        struct trace *t = NULL;
        say_where(&s, cases[i][0]);
        if (trace_of(w, 0, &t) != -EINVAL || t)
            test_fail(__FILE__, __LINE__, "accepted: %s", cases[i][0]);
        CHECK_STR(locus_error(), "LOCUS_TRACE_KEYS");
        CHECK_STR(locus_error(), cases[i][1] ? cases[i][1] : cases[i][0]);
    }
}

TEST(trace, open_does_nothing_unless_asked)
{
    struct trace *t = (void *)1;
    CLOSED_BY(world_free)
    struct world *w = world_of_100_keys();
    CHECK_EQ(unsetenv("LOCUS_TRACE"), 0);
    CHECK_EQ(trace_of(w, 0, &t), 0);
    CHECK(t == NULL);
    trace_close(t);
}

TEST(trace, open_says_where_it_cannot_write)
{
    struct trace *t;
    CLOSED_BY(world_free)
    struct world *w = world_of_100_keys();
    CHECK_EQ(setenv("LOCUS_TRACE", "/proc/no/such/folder/run", 1), 0);
    CHECK_EQ(trace_of(w, 0, &t), -ENOENT);
    CHECK(t == NULL);
    CHECK_STR(locus_error(), "/proc/no/such/folder/run.0.jsonl");
}
