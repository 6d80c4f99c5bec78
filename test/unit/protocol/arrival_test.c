/* What a peer may not send: each fails its link, with the reason, and changes nothing. */
#include "world.h"

#include "protocol/request.h"
#include "test.h"

enum {
    LENGTH = WORLD_LENGTH,
    BEYOND = 1000,
    HOME_1 = 1,
    HOME_2 = 2,
    ELSE = 1 << REQUEST_ITEM_BITS
};
#define NO_TERM (UINT64_C(1) << DIRECTORY_TERM_BITS)

/* What was before, of the key whose home is node 1. Three nodes. */
enum scene {
    STATIC,       /* rows do not move */
    STATIC_PULLS, /* the same, and node 0 has asked for the row */
    MOVES,        /* relocate */
    LOCALIZES,    /* node 0 has asked for the row */
    MOVED_TWICE,  /* node 0 has asked again, and knows of term 2 */
    HEARD,        /* node 0 knows that node 2 has it, in term 5 */
    ADAPTIVE,     /* nothing */
    INTENDS,      /* node 0 has asked for a row or replica */
    SHARES,       /* node 0 has a replica of version 1 */
    SYNCHRONIZES, /* and an entry of it is under way */
};

static struct world *world_of(enum scene scene, uint32_t *tag)
{
    static struct call c;
    struct world *w = world_new(scene < MOVES      ? LOCUS_STATIC
                                : scene < ADAPTIVE ? LOCUS_RELOCATE
                                                   : LOCUS_ADAPTIVE,
                                3);
    locus_key key = world_key(w, 1);
    for (unsigned n = 2; n > 0 && scene == MOVED_TWICE; n--)
        world_run(w, n, REQUEST_LOCALIZE, key, 0);
    if (scene == MOVED_TWICE) world_run(w, 0, REQUEST_PULL, key, 0); /* by way of whom it knows */
    if (scene == STATIC_PULLS) world_ask(w, &c, 0, 0, REQUEST_PULL, key, 0);
    if (scene == LOCALIZES || scene == MOVED_TWICE)
        world_ask(w, &c, 0, 0, REQUEST_LOCALIZE, key, 0);
    *tag = request_tag(&c.request, 0);
    const struct wire_entry news = {
        .operation = WIRE_LOCATION, .owner = 2, .origin = 1, .key = key, .term = 5};
    if (scene == HEARD) CHECK(!world_receive(w, 0, 1, news));
    if (scene > INTENDS) world_intend(w, 1, 0, key, 0, 1000);
    if (scene >= INTENDS) world_intend(w, 0, 0, key, 0, 100);
    if (scene > INTENDS) world_deliver_all(w);
    CHECK_EQ(world_is_replica(w, 0, key), scene > INTENDS);
    const struct wire_entry recall = {.operation = WIRE_RECALL, .owner = 1, .key = key};
    if (scene == SYNCHRONIZES) CHECK(!world_receive(w, 0, 1, recall));
    world_turn(w, 0);
    return w;
}

static const char length[] = "a row of another length", flags[] = "flags of something else",
                  name[] = "in the name of another node", unknown[] = "does not exist",
                  forged[] = "an entry in our own name", other[] = "to something else",
                  late[] = "a clock that goes back", not_ours[] = "not our replica";

/* why NULL: it is accepted. A key is given by its home; a tag as a change of that of what was asked.
 * The entry is sent with one field changed, if `bytes`. */
struct refusal {
    enum scene scene;
    unsigned to, from;
    const char *why;
    struct wire_entry e;
    size_t at, bytes;
    uint64_t value;
};

#define ENTRY(code, with, ...) \
    { \
        .operation = (code), .flags = (with), __VA_ARGS__ \
    }
#define E(...) .e = ENTRY(__VA_ARGS__)
#define BUT(field, to) \
    .at = offsetof(struct wire_entry, field), .bytes = sizeof((struct wire_entry *)0)->field, \
    .value = to
/* Right ones, where the scene has what they need. */
#define PULLED E(WIRE_PULLED, 0, .owner = 1, .key = HOME_1, .length = LENGTH)
#define PUSH E(WIRE_PUSH, 0, .owner = 1, .origin = 2, .hops = 1, .key = HOME_1, .length = LENGTH)
#define NEWS E(WIRE_LOCATION, 0, .owner = 2, .origin = 1, .key = HOME_1, .term = 5)
#define ROW E(WIRE_ROW, WIRE_LOCALIZED, .origin = 1, .length = LENGTH, .key = HOME_1, .term = 1)
#define REPLICA \
    E(WIRE_ROW, WIRE_ANSWERS, .encoding = WIRE_AS_REPLICA, .origin = 1, .key = HOME_1, .term = 1)
#define HOLDER(...) \
    E(WIRE_ANSWER, WIRE_HOLDER, .owner = 1, .key = HOME_1, .length = LENGTH, __VA_ARGS__)
#define CLOCK(code, to) E(code, 0, .owner = 1, .origin = 1, .clock = (to))

static const struct refusal cases[] = {
    {STATIC, 1, 0, unknown, E(WIRE_PULL, 0, .key = BEYOND)},
    {STATIC, 2, 0, "not here", E(WIRE_PULL, 0, .key = HOME_1)},
    {STATIC, 1, 0, name, E(WIRE_PULL, 0, .key = HOME_1, .origin = 2)},
    {STATIC, 1, 0, length, E(WIRE_PULL, 0, .key = HOME_1, .length = 2)},
    {STATIC, 1, 0, length, E(WIRE_PUSH, 0, .key = HOME_1, .length = LENGTH - 1)},
    {STATIC, 0, 1, "never asked", PULLED, BUT(tag, 12345)},
    {STATIC_PULLS, 0, 1, other, PULLED, BUT(key, HOME_2)},
    {STATIC_PULLS, 0, 1, other, E(WIRE_PUSHED, 0, .owner = 1, .key = HOME_1)},
    {STATIC_PULLS, 0, 1, length, PULLED, BUT(length, 1)},
    {STATIC_PULLS, 0, 2, name, PULLED},
    {STATIC_PULLS, 0, 2, "another node was asked for", PULLED, BUT(owner, 2)},
    {STATIC_PULLS, 0, 1, NULL, PULLED},
    {STATIC_PULLS, 0, 1, "never asked", PULLED},
    /* whatever was said before: lengths, flags, names */
    {MOVES, 0, 1, length, E(WIRE_PULL, 0, .key = HOME_1, .length = LENGTH)},
    {MOVES, 0, 1, length, E(WIRE_LOCALIZE, 0, .key = HOME_1, .length = LENGTH)},
    {MOVES, 0, 1, length, E(WIRE_SET, 0, .key = HOME_1)},
    {MOVES, 0, 1, length, PULLED, BUT(length, 0)},
    {MOVES, 0, 1, length, E(WIRE_STAYS, 0, .key = HOME_1, .owner = 1, .length = LENGTH)},
    {MOVES, 0, 1, length, ROW, BUT(length, LENGTH + 1)},
    {MOVES, 0, 1, length, NEWS, BUT(length, LENGTH)},
    {MOVES, 0, 1, length, E(WIRE_SYNC, 0, .key = HOME_1, .length = LENGTH)},
    {MOVES, 0, 1, length, E(WIRE_SYNC, WIRE_END, .key = HOME_1, .length = LENGTH)},
    {MOVES, 0, 1, length, E(WIRE_SYNC, WIRE_UPDATE, .key = HOME_1)},
    {MOVES, 0, 1, length, E(WIRE_SYNC, WIRE_UPDATE | WIRE_GRADIENT, .length = LENGTH)},
    {MOVES, 0, 1, length, HOLDER(.version = 1), BUT(length, LENGTH - 1)},
    {MOVES, 0, 1, length, E(WIRE_REFRESH, 0, .key = HOME_1, .owner = 1)},
    {MOVES, 0, 1, length, E(WIRE_RECALL, 0, .key = HOME_1, .owner = 1, .length = LENGTH)},
    {MOVES, 0, 1, "with a key or values", E(WIRE_ROUND, 0, .owner = 1, .origin = 1, .length = 2)},
    {MOVES, 0, 1, "with a key or values", E(WIRE_CLOCK_FRESH, 0, .origin = 1, .key = 1)},
    {MOVES, 0, 1, flags, E(WIRE_PULL, WIRE_BEGIN, .key = HOME_1)},
    {MOVES, 0, 1, flags, ROW, BUT(flags, 0)},
    {MOVES, 0, 1, flags, ROW, BUT(flags, WIRE_LOCALIZED | WIRE_HOLDER)},
    {MOVES, 0, 1, flags, ROW, BUT(flags, WIRE_LOCALIZED | WIRE_ANSWERS)},
    {MOVES, 0, 1, flags, E(WIRE_SYNC, WIRE_BEGIN | WIRE_END, .key = HOME_1)},
    {MOVES, 0, 1, flags, E(WIRE_SYNC, WIRE_FOREVER, .key = HOME_1)},
    {MOVES, 0, 1, flags, E(WIRE_SYNC, WIRE_UPDATE | WIRE_VALUE, .length = LENGTH)},
    {MOVES, 0, 1, flags, HOLDER(.version = 1), BUT(flags, WIRE_FOREVER)},
    {MOVES, 0, 1, name, E(WIRE_PUSHED, 0, .key = HOME_1)},
    {MOVES, 0, 1, "asked for", E(WIRE_PUSHED, 0, .key = HOME_1, .owner = 1, .origin = 2)},
    {MOVES, 0, 1, name, ROW, BUT(origin, 2)},
    {MOVES, 0, 1, "another node", ROW, BUT(owner, 2)},
    {MOVES, 0, 1, name, NEWS, BUT(origin, 0)},
    {MOVES, 0, 1, "that is ours", NEWS, BUT(owner, 0)},
    {MOVES, 0, 1, name, HOLDER(.version = 1), BUT(owner, 0)},
    {MOVES, 0, 1, name, E(WIRE_REFRESH, 0, .key = HOME_1, .owner = 2, .length = LENGTH)},
    {MOVES, 0, 1, name, E(WIRE_RECALL, 0, .key = HOME_1)},
    {MOVES, 0, 1, name, E(WIRE_ROUND_DONE, 0, .owner = 1)},
    {MOVES, 0, 1, name, E(WIRE_CLOCK_AWAITED, 0, .origin = 1)},
    {MOVES, 0, 1, "not under way", E(WIRE_ROUND_DONE, 0, .owner = 1, .origin = 1)},
    {MOVES, 0, 1, NULL, CLOCK(WIRE_CLOCK_UPDATED, 3)},
    {MOVES, 0, 1, NULL, CLOCK(WIRE_CLOCK_FRESH, 3)},
    {MOVES, 0, 1, NULL, CLOCK(WIRE_CLOCK_AWAITED, 3)},
    {MOVES, 0, 1, late, CLOCK(WIRE_CLOCK_UPDATED, 3)},
    {MOVES, 0, 1, late, CLOCK(WIRE_CLOCK_FRESH, 2)},
    {MOVES, 0, 1, "no longer", CLOCK(WIRE_CLOCK_AWAITED, 3)},
    /* requests */
    {MOVES, 1, 0, length, PUSH, BUT(length, 0)},
    {MOVES, 1, 0, length, PUSH, BUT(length, LENGTH + 1)},
    {MOVES, 1, 0, unknown, PUSH, BUT(origin, 3)},
    {MOVES, 1, 0, unknown, PUSH, BUT(owner, 3)},
    {MOVES, 1, 0, "never asked", PUSH, BUT(origin, 1)},
    {MOVES, 1, 0, NULL, PUSH}, /* forwarded: not from its origin */
    {HEARD, 0, 1, "another node has", E(WIRE_PULL, 0, .origin = 1, .key = HOME_1, .term = 5)},
    {HEARD, 0, 1, NULL, E(WIRE_PULL, 0, .origin = 1, .key = HOME_1, .term = 4)},
    {HEARD, 0, 1, NULL, E(WIRE_PULL, 0, .origin = 1, .key = HOME_1, .term = 6)},
    /* news */
    {MOVES, 0, 1, unknown, NEWS, BUT(owner, 3)},
    {MOVES, 0, 1, unknown, NEWS, BUT(key, BEYOND)},
    {MOVES, 0, 1, "no possible term", NEWS, BUT(term, NO_TERM)},
    {MOVES, 0, 1, NULL, NEWS, BUT(key, 0)}, /* it is here all the same */
    {MOVES, 0, 1, NULL, NEWS},
    {SHARES, 0, 2, "that is ours", E(WIRE_LOCATION, 0, .origin = 2, .key = HOME_1, .term = 7)},
    {MOVES, 0, 1, unknown, NEWS, BUT(version, UINT64_C(1) << 63)},
    /* rows */
    {LOCALIZES, 0, 1, "never asked", ROW, BUT(tag, ELSE)},
    {LOCALIZES, 0, 1, other, ROW, BUT(key, HOME_2)},
    {LOCALIZES, 0, 1, "here already", ROW, BUT(key, 0)},
    {LOCALIZES, 0, 1, length, ROW, BUT(length, LENGTH - 1)},
    {LOCALIZES, 0, 1, "passed on", ROW, BUT(term, 0)},
    {LOCALIZES, 0, 1, "no possible term", ROW, BUT(term, NO_TERM)},
    {LOCALIZES, 0, 1, "that is our replica",
     E(WIRE_ROW, WIRE_LOCALIZED, .encoding = WIRE_AS_REPLICA, .origin = 1, .key = HOME_1,
       .term = 1)},
    {LOCALIZES, 0, 1, NULL, ROW},
    {LOCALIZES, 0, 1, "here already", ROW},
    {MOVED_TWICE, 0, 1, "passed on", ROW, BUT(term, 1)},
    {MOVED_TWICE, 0, 1, "passed on", ROW, BUT(term, 2)},
    {MOVED_TWICE, 0, 1, NULL, ROW, BUT(term, 3)},
    {ADAPTIVE, 0, 1, "nobody asked for", REPLICA, BUT(encoding, 0)},
    {INTENDS, 0, 1, not_ours, REPLICA, BUT(version, 0)},
    {SYNCHRONIZES, 0, 1, not_ours, REPLICA, BUT(version, 2)},
    {SYNCHRONIZES, 0, 1, not_ours, REPLICA, BUT(version, 0)},
    {SYNCHRONIZES, 0, 1, NULL, REPLICA, BUT(version, 1)},
    /* replicas: entries and their answers */
    {ADAPTIVE, 1, 0, "nobody holds", E(WIRE_SYNC, WIRE_UPDATE, .key = HOME_1, .length = LENGTH)},
    {ADAPTIVE, 2, 0, "whose row is not here",
     E(WIRE_SYNC, WIRE_UPDATE, .owner = 1, .key = HOME_1, .length = LENGTH)},
    {ADAPTIVE, 1, 0, forged, E(WIRE_SYNC, WIRE_BEGIN, .owner = 1, .origin = 1, .key = HOME_1)},
    {ADAPTIVE, 0, 1, "no entry of ours", HOLDER(.version = 1)},
    {INTENDS, 0, 1, "of no version", HOLDER(.version = 0)},
    {INTENDS, 0, 1, "holds no replica", HOLDER(.version = 1), BUT(flags, 0)},
    {INTENDS, 0, 1, "of nothing", HOLDER(.version = 1), BUT(length, 0)},
    {SYNCHRONIZES, 0, 1, "older than", E(WIRE_ANSWER, 0, .owner = 1, .key = HOME_1)},
};

static struct wire_entry entry_of(struct world *w, const struct refusal *c, uint32_t tag)
{
    struct wire_entry e = c->e;
    memcpy((char *)&e + c->at, &c->value, c->bytes);
    bool has_key = wire_rules[e.operation].route != WIRE_OF_SHARD;
    if (has_key && e.key <= HOME_2) e.key = world_key(w, (unsigned)e.key);
    if (has_key && (e.operation != WIRE_SYNC)) e.tag ^= tag;
    return e;
}

TEST(arrival, entry_that_cannot_be_is_refused_with_the_reason)
{
    struct world *w = NULL;
    uint32_t tag = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_first = i == 0 || cases[i].scene != cases[i - 1].scene;
        if (is_first && w) world_free(&w);
        if (is_first) w = world_of(cases[i].scene, &tag);
        const struct wire_entry e = entry_of(w, &cases[i], tag);
        const char *why = world_receive(w, cases[i].to, cases[i].from, e);
        const char *said = why ? why : "accepted",
                   *right = cases[i].why ? cases[i].why : "accepted";
        if (!strstr(said, right))
            test_fail(__FILE__, __LINE__, "case %d, %s from %u to %u: \"%s\" instead of \"%s\"",
                      (int)i, wire_rules[e.operation].name, cases[i].from, cases[i].to, said,
                      right);
    }
    world_free(&w);
}

TEST(arrival, entry_that_the_technique_does_not_know_is_refused)
{
    static const uint8_t operations[] = {WIRE_ROW,        WIRE_LOCATION, WIRE_SYNC,    WIRE_ROUND,
                                         WIRE_ROUND_DONE, WIRE_ANSWER,   WIRE_REFRESH, WIRE_RECALL};
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_STATIC, 2);
    for (size_t i = 0; i < sizeof operations; i++)
        CHECK_STR(world_receive(w, 0, 1, (struct wire_entry){.operation = operations[i]}),
                  "an entry of what the cluster's technique does not know");
    for (unsigned operation = WIRE_OPERATIONS; operation < 256; operation++)
        CHECK_STR(world_receive(w, 0, 1, (struct wire_entry){.operation = (uint8_t)operation}),
                  "an entry of no known operation");
}

TEST(arrival, more_parked_than_the_credit_of_all_nodes_is_refused)
{
    enum { CREDIT = 1000, NODES = 3 };
    CLOSED_BY(world_free)
    struct world *w = world_open((struct world_config){LOCUS_RELOCATE, NODES, .credit = CREDIT});
    const struct wire_entry push = {
        .operation = WIRE_PUSH, .origin = 1, .key = world_key(w, 1), .term = 5, .length = LENGTH};
    size_t each = wire_entry_bytes(LENGTH), fit = NODES * NODES * CREDIT / each;
    struct shard *s = &w->node[0].shard;
    CHECK(s->memory_max > 1 << 20);
    for (size_t i = 0; i < fit; i++) {
        if (i == fit / 2) s->memory_max = i * each; /* of many nodes that is less */
        if (i == fit / 2) CHECK_STR(world_receive(w, 0, 1, push), "our memory");
        if (i == fit / 2) s->memory_max = SIZE_MAX;
        CHECK(world_receive(w, 0, 1, push) == NULL);
    }
    CHECK_STR(world_receive(w, 0, 1, push), "credit of all nodes");
}

/* Our own sync comes to us while the row does, and twice is once too often: the row answers it,
 * too. Who sent it is refused, with the next frame, and who sent the row is not. */
TEST(arrival, parked_entry_that_is_wrong_fails_the_link_that_it_came_by)
{
    for (unsigned from = 1; from < 3; from++) {
        uint32_t tag;
        struct world *w = world_of(INTENDS, &tag);
        locus_key key = world_key(w, 1);
        uint16_t rank = (uint16_t)from;
        const struct wire_entry ours = ENTRY(WIRE_SYNC, WIRE_BEGIN, .key = key, .term = 1),
                                row = ENTRY(WIRE_ROW, WIRE_ANSWERS, .origin = 1, .key = key,
                                            .term = 1),
                                next = ENTRY(WIRE_ROUND_DONE, 0, .owner = rank, .origin = rank);
        CHECK(!world_receive(w, 0, from, ours)); /* it waits for the row */
        const char *why = world_receive(w, 0, 1, row);
        CHECK(world_known(w, 0, key).is_here);
        if (from == 1) CHECK_STR(why, forged);
        if (from == 2) CHECK(!why);
        CHECK_STR(world_receive(w, 0, from, next), forged);
        world_free(&w);
    }
}

/* Else the holder of a replica could be made to take itself for whom to send its updates to: what a
 * request's sender believes is believed. */
TEST(arrival, who_says_that_we_own_our_replica_gets_us_to_send_nothing_to_ourselves)
{
    for (int expires = 0; expires < 2; expires++) {
        uint32_t tag;
        CLOSED_BY(world_free) struct world *w = world_of(SHARES, &tag);
        locus_key key = world_key(w, 1);
        const struct wire_entry pull = ENTRY(WIRE_PULL, 0, .origin = 2, .key = key, .term = 7),
                                recall = ENTRY(WIRE_RECALL, 0, .owner = 2, .key = key);
        CHECK(!world_receive(w, 0, 2, pull));
        w->now_ns += 100 * WORLD_MS;
        world_turn(w, 0);
        w->node[0].shard.pacer->due_ns = w->now_ns + 50 * WORLD_MS; /* as after some other round */
        if (expires) w->node[0].clock[0] = 100;
        world_turn(w, 0);
        CHECK(!world_receive(w, 0, 2, recall));
        if (!expires) CHECK_EQ(row_add(world_ref(w, 0, key), world_ones), ROW_ON_REPLICA);
        for (int i = 0; i < 5; i++) {
            w->now_ns += 100 * WORLD_MS;
            world_turn(w, 0);
        }
        CHECK_EQ(w->link[0][0].count, 0);
    }
}
