/* What has happened to a shard's keys: a ring that one thread writes, and others read without
 * stopping it. */
#include "protocol/events.h"

#include "world.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void note(struct key_events *e, uint64_t number)
{
    events_note(e, &(struct key_event){.ns = number,
                                       .index = number,
                                       .term = number,
                                       .node = (uint16_t)number,
                                       .kind = EVENT_CAME});
}

/* All of its numbers are those of one event. */
static bool is_whole(const struct key_event *e)
{
    return e->ns == e->index && e->ns == e->term && e->node == (uint16_t)e->ns &&
           e->kind == EVENT_CAME;
}

TEST(events, read_gives_all_in_order_and_once)
{
    struct key_event out[4];
    struct key_events *e = events_new();
    struct events_reader r = {.of = e}, none = {0};
    CHECK_EQ(events_read(&r, out, 4), 0);
    CHECK_EQ(events_read(&none, out, 4), 0);
    for (uint64_t i = 0; i < 6; i++) note(e, i);
    CHECK_EQ(events_read(&r, out, 4), 4);
    for (uint64_t i = 0; i < 4; i++) CHECK(is_whole(&out[i]) && out[i].ns == i);
    CHECK_EQ(events_read(&r, out, 4), 2);
    CHECK_EQ(out[1].ns, 5);
    CHECK_EQ(events_read(&r, out, 4), 0);
    CHECK_EQ(r.lost, 0);
    free(e);
}

/* One place is the writer's: it may be writing. */
TEST(events, read_counts_those_that_are_gone)
{
    struct key_event out[4];
    struct key_events *e = events_new();
    struct events_reader r = {.of = e};
    for (uint64_t i = 0; i < EVENTS_KEPT + 10; i++) note(e, i);
    CHECK_EQ(events_read(&r, out, 4), 4);
    CHECK_EQ(r.lost, 11);
    CHECK_EQ(out[0].ns, 11);
    for (uint64_t i = 0; i < 3 * EVENTS_KEPT; i++) note(e, EVENTS_KEPT + 10 + i);
    CHECK_EQ(events_read(&r, out, 4), 4);
    CHECK_EQ(out[0].ns, 11 + 3 * EVENTS_KEPT);
    CHECK_EQ(r.lost, 11 + 3 * EVENTS_KEPT - 4);
    free(e);
}

/* Every kind and reason has a name of its own. */
TEST(events, names_differ)
{
    for (int i = 0; i < EVENT_KINDS; i++)
        for (int k = 0; k < i; k++) CHECK(strcmp(event_name[i], event_name[k]) != 0);
    for (int i = 0; i < WHY_COUNT; i++)
        for (int k = 0; k < i; k++) CHECK(strcmp(event_reason[i], event_reason[k]) != 0);
}

enum { NOTED = 20 * EVENTS_KEPT };

static void *write_all(void *events)
{
    for (uint64_t i = 0; i < NOTED; i++) note(events, i);
    return NULL;
}

static size_t read_whole(struct events_reader *r)
{
    static struct key_event out[256];
    size_t n = events_read(r, out, 256);
    for (size_t i = 0; i < n; i++) CHECK(is_whole(&out[i]) && out[i].ns == out[0].ns + i);
    return n;
}

/* Each is whole, and read or counted as lost; also the oldest, which are next to be overwritten. */
TEST(events, are_whole_while_they_are_written)
{
    struct key_events *e = events_new();
    struct events_reader r = {.of = e};
    uint64_t seen = 0;
    pthread_t writer;
    CHECK_EQ(pthread_create(&writer, NULL, write_all, e), 0);
    while (r.next < NOTED) {
        struct events_reader oldest = {.of = e};
        for (int i = 0; i < 10; i++, oldest.next = 0) read_whole(&oldest);
        seen += read_whole(&r);
    }
    CHECK_EQ(pthread_join(writer, NULL), 0);
    CHECK_EQ(seen + r.lost, NOTED);
    free(e);
}

/* ---- which ones ---- */

/* The kinds of all that happened to the key at the node. */
static void happened(const struct world *w, unsigned node, locus_key key, char *names, size_t bytes)
{
    struct key_event e[64];
    struct events_reader r = {.of = w->node[node].shard.events};
    size_t n = events_read(&r, e, 64), at = 0;
    *names = '\0';
    for (size_t i = 0; i < n; i++)
        if (e[i].index == world_ref(w, node, key).index)
            at += (size_t)snprintf(names + at, bytes - at, " %s", event_name[e[i].kind]);
}

static void is_told(const struct world *w, unsigned node, locus_key key, const char *names)
{
    char found[256];
    happened(w, node, key, found, sizeof found);
    CHECK_STR(found, names);
    CHECK_STR(names, found);
}

/* Node 1 takes a row of node 0, which then gets a replica; its push goes elsewhere until then. */
TEST(events, are_those_of_a_keys_life)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 2);
    locus_key key = world_key(w, 0);
    w->now_ns = 1000 * WORLD_MS;
    for (unsigned i = 0; i < 2; i++) CHECK((w->node[i].shard.events = events_new()) != NULL);
    world_run(w, 1, REQUEST_PUSH, key, 1);
    world_run(w, 1, REQUEST_PULL, key, 0);
    world_intend(w, 1, 0, key, 0, 100);
    world_deliver_all(w);
    is_told(w, 1, key, " pushed pulled asked intended came");
    is_told(w, 0, key, " gave");
    world_intend(w, 0, 0, key, 0, 10);
    world_deliver_all(w);
    is_told(w, 1, key, " pushed pulled asked intended came shared");
    w->node[0].clock[0] = 10;
    world_pass(w, 10, WORLD_MS);
    is_told(w, 0, key, " gave asked intended copied expired dropped");
    is_told(w, 1, key, " pushed pulled asked intended came shared unshared");
    world_event(w, 1, INTENT_KEEPS, key);
    world_event(w, 1, INTENT_UNKEEPS, key);
    is_told(w, 1, key, " pushed pulled asked intended came shared unshared kept unkept");
    is_told(w, 1, key + 1, "");
}
