/* What a shard has decided about its keys: what it remembers of that, and for how long. */
#include "protocol/decisions.h"

#include "test.h"

enum { KEY = 7, OTHER = 8 };
static const uint64_t now = 1000000;

static void note(struct decisions *d, uint64_t index, uint64_t term)
{
    decisions_note(d, &(struct decision){.ns = now, .index = index, .term = term, .kind = 1});
}

static struct decisions *made(void)
{
    struct decisions *d = decisions_new();
    CHECK(d != NULL);
    return d;
}

TEST(decisions, of_gives_the_last_ones_of_a_key_in_order)
{
    struct decisions *d = made();
    struct decision found[DECISIONS_OF_KEY];
    for (uint64_t i = 1; i <= 100; i++) {
        note(d, KEY, i);
        note(d, OTHER, 1000 + i);
    }
    CHECK_EQ(decisions_of(d, KEY, now, found), DECISIONS_OF_KEY);
    for (uint64_t i = 0; i < DECISIONS_OF_KEY; i++) {
        CHECK_EQ(found[i].index, KEY);
        CHECK_EQ(found[i].term, 100 - DECISIONS_OF_KEY + 1 + i);
    }
    decisions_free(d);
}

/* Much else is decided: what nobody asked about is forgotten, what somebody did is not. */
TEST(decisions, of_a_key_that_was_asked_about_are_kept)
{
    struct decisions *d = made();
    struct decision found[DECISIONS_OF_KEY];
    decisions_of(d, KEY, now, found);
    note(d, KEY, 1);
    note(d, OTHER, 2);
    for (uint64_t i = 0; i < 2 * DECISIONS_KEPT; i++) note(d, 100 + i % 50, i);
    CHECK_EQ(decisions_of(d, OTHER, now, found), 0);
    CHECK_EQ(decisions_of(d, KEY, now, found), 1);
    CHECK_EQ(found[0].term, 1);
    decisions_free(d);
}

/* For a while after the last question, and of so many keys. */
TEST(decisions, are_watched_for_a_while_and_of_so_many_keys)
{
    struct decisions *d = made();
    struct decision found[DECISIONS_OF_KEY];
    decisions_of(d, KEY, now, found);
    note(d, KEY, 1);
    for (uint64_t i = 0; i < DECISIONS_KEPT; i++) note(d, OTHER, i);
    CHECK_EQ(decisions_of(d, KEY, now + DECISIONS_WATCH_NS - 1, found), 1);
    CHECK_EQ(decisions_of(d, KEY, now + 2 * DECISIONS_WATCH_NS, found), 0);
    note(d, KEY, 2);
    for (uint64_t i = 0; i < DECISIONS_KEPT; i++) note(d, OTHER, i);
    for (uint64_t i = 1; i < DECISIONS_WATCHED_MAX; i++)
        decisions_of(d, 100 + i, now + 2 * DECISIONS_WATCH_NS + i, found);
    CHECK_EQ(decisions_of(d, KEY, now + 2 * DECISIONS_WATCH_NS + 20, found), 1);
    for (uint64_t i = 1; i <= DECISIONS_WATCHED_MAX; i++)
        decisions_of(d, 200 + i, now + 2 * DECISIONS_WATCH_NS + 20 + i, found);
    CHECK_EQ(decisions_of(d, KEY, now + 2 * DECISIONS_WATCH_NS + 40, found), 0);
    decisions_free(d);
}
