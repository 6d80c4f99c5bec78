/* Entries go to the role that they are for, to the node that has the row, or wait for it. */
#include "moving.h"

#include "protocol/request.h"
#include "test.h"

TEST(dispatch, an_entry_that_cannot_be_fails_the_link_with_the_reason)
{
    CLOSED_BY(world_free) struct world *w = world_new(3, KEYS, LENGTH, WORKERS, 1 << 20, 11);
    locus_key key = moving_key_at_home(w, 1);
    unsigned owner = 1, third = 2;
    float values[LENGTH];
    struct request_item item = {.key = key, .values = values};
    struct request r = {0};
    CHECK_STR(world_receive(w, owner, 0, (struct wire_entry){.operation = WIRE_PULL, .key = KEYS}),
              "does not exist");
    CHECK_STR(world_receive(w, third, 0, (struct wire_entry){.operation = WIRE_PULL, .key = key}),
              "not here");
    CHECK_STR(world_receive(w, owner, 0,
                            (struct wire_entry){
                                .operation = WIRE_PULL, .key = key, .origin = (uint16_t)third}),
              "name of another");
    CHECK_STR(world_receive(w, owner, 0,
                            (struct wire_entry){.operation = WIRE_PULL, .key = key, .length = 2}),
              "a row of another length");
    CHECK_STR(world_receive(
                  w, owner, 0,
                  (struct wire_entry){.operation = WIRE_PUSH, .key = key, .length = LENGTH - 1}),
              "another length");
    struct wire_entry answer = {
        .operation = WIRE_PULLED, .owner = 1, .key = key, .tag = 12345, .length = LENGTH};
    CHECK_STR(world_receive(w, 0, owner, answer), "never asked");
    world_request(&r, 0, 0, REQUEST_PULL, &item, 1);
    CHECK(shard_serve(&w->node[0].shard, &r));
    answer.tag = request_tag(&r, 0);
    struct wire_entry wrong = answer;
    wrong.key = key ^ 1;
    CHECK_STR(world_receive(w, 0, owner, wrong), "something else");
    wrong = answer;
    wrong.operation = WIRE_PUSHED;
    wrong.length = 0;
    CHECK_STR(world_receive(w, 0, owner, wrong), "something else");
    wrong = answer;
    wrong.length = 1;
    CHECK_STR(world_receive(w, 0, owner, wrong), "another length");
    CHECK_STR(world_receive(w, 0, third, answer), "name of another node");
    wrong = answer;
    wrong.owner = (uint16_t)third;
    CHECK_STR(world_receive(w, 0, third, wrong), "another node was asked for");
    CHECK(world_receive(w, 0, owner, answer) == NULL);
    CHECK_EQ(w->node[0].completed, 1);
    CHECK_STR(world_receive(w, 0, owner, answer), "never asked");
}

/* From node 1 to node 0, whatever they have said before. */
TEST(dispatch, each_message_has_its_sender_its_length_and_its_flags)
{
    static const char length[] = "a row of another length", flags[] = "flags of something else",
                      name[] = "in the name of another node";
    static const struct {
        const char *why;
        struct wire_entry e;
    } cases[] = {
        {length, {.operation = WIRE_PULL, .length = LENGTH}},
        {length, {.operation = WIRE_LOCALIZE, .length = LENGTH}},
        {length, {.operation = WIRE_SET}},
        {length, {.operation = WIRE_PULLED, .owner = 1}},
        {length, {.operation = WIRE_STAYS, .owner = 1, .length = LENGTH}},
        {length, {.operation = WIRE_ROW, .origin = 1, .length = LENGTH + 1}},
        {length, {.operation = WIRE_LOCATION, .owner = 2, .origin = 1, .length = LENGTH}},
        {length, {.operation = WIRE_SYNC, .length = LENGTH}},
        {length, {.operation = WIRE_SYNC, .flags = WIRE_END, .length = LENGTH}},
        {length, {.operation = WIRE_SYNC, .flags = WIRE_UPDATE}},
        {length, {.operation = WIRE_SYNC, .flags = WIRE_UPDATE | WIRE_GRADIENT, .length = LENGTH}},
        {length, {.operation = WIRE_ANSWER, .owner = 1, .length = LENGTH - 1}},
        {length, {.operation = WIRE_REFRESH, .owner = 1}},
        {length, {.operation = WIRE_RECALL, .owner = 1, .length = LENGTH}},
        {"with a key or values", {.operation = WIRE_ROUND, .owner = 1, .origin = 1, .length = 2}},
        {"with a key or values", {.operation = WIRE_CLOCK_FRESH, .origin = 1, .key = 1}},
        {flags, {.operation = WIRE_PULL, .flags = WIRE_BEGIN}},
        {flags, {.operation = WIRE_ROW, .origin = 1}},
        {flags, {.operation = WIRE_SYNC, .flags = WIRE_BEGIN | WIRE_END}},
        {flags, {.operation = WIRE_SYNC, .flags = WIRE_FOREVER}},
        {flags, {.operation = WIRE_SYNC, .flags = WIRE_UPDATE | WIRE_VALUE, .length = LENGTH}},
        {flags, {.operation = WIRE_ANSWER, .owner = 1, .flags = WIRE_FOREVER}},
        {name, {.operation = WIRE_PUSHED}},
        {"asked for", {.operation = WIRE_PUSHED, .owner = 1, .origin = 2}},
        {name, {.operation = WIRE_ROW, .origin = 2, .flags = WIRE_ANSWERS}},
        {"for another node", {.operation = WIRE_ROW, .owner = 2, .flags = WIRE_ANSWERS}},
        {name, {.operation = WIRE_LOCATION, .owner = 2}},
        {"that is ours", {.operation = WIRE_LOCATION, .origin = 1}},
        {name, {.operation = WIRE_ANSWER}},
        {name, {.operation = WIRE_REFRESH, .owner = 2, .length = LENGTH}},
        {name, {.operation = WIRE_RECALL}},
        {name, {.operation = WIRE_ROUND_DONE, .owner = 1}},
        {name, {.operation = WIRE_CLOCK_AWAITED, .origin = 1}},
    };
    CLOSED_BY(world_free) struct world *w = moving_world(3, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_entry e = cases[i].e;
        if (!e.key && wire_rules[e.operation].route != WIRE_OF_SHARD)
            e.key = moving_key_at_home(w, 1);
        CHECK_STR(world_receive(w, 0, 1, e), cases[i].why);
    }
}

TEST(dispatch, what_the_technique_does_not_know_fails_the_link)
{
    static const uint8_t operations[] = {WIRE_ROW,        WIRE_LOCATION, WIRE_SYNC,    WIRE_ROUND,
                                         WIRE_ROUND_DONE, WIRE_ANSWER,   WIRE_REFRESH, WIRE_RECALL};
    CLOSED_BY(world_free) struct world *w = world_new(2, KEYS, LENGTH, WORKERS, WIDE, 1);
    for (size_t i = 0; i < sizeof operations; i++)
        CHECK_STR(world_receive(w, 0, 1, (struct wire_entry){.operation = operations[i]}),
                  "an entry of what the cluster's technique does not know");
    for (unsigned operation = WIRE_OPERATIONS; operation < 256; operation++)
        CHECK_STR(world_receive(w, 0, 1, (struct wire_entry){.operation = (uint8_t)operation}),
                  "an entry of no known operation");
}

/* From 2 to the home, 1, which knows that the row has gone to 0. */
TEST(dispatch, a_request_for_a_row_that_has_left_goes_on_to_its_owner)
{
    CLOSED_BY(world_free) struct world *w = moving_world(3, 2);
    locus_key key = moving_key_at_home(w, 1);
    struct call push, pull;
    moving_bring(w, 0, key);
    moving_ask_push(w, &push, 2, 0, 0, key, 3);
    CHECK_EQ(moving_entries(w, 2, 1), 1);
    moving_deliver(w, 2, 1);
    CHECK_EQ(moving_entries(w, 1, 0), 1);
    CHECK_EQ(moving_entries(w, 1, 2), 0); /* the owner answers, not who passed it on */
    world_deliver_all(w);
    CHECK(moving_is_done(&push));
    CHECK_EQ(w->node[0].shard.histograms.hops[1], 1);
    moving_ask_pull(w, &pull, 2, 0, 0, key);
    world_deliver_all(w);
    CHECK_EQ(moving_pulled(&pull), 3);
}
