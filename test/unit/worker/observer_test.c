/* observer: a window of calls, some of which are looked at, and keys for who wants them. */
#include "worker/observer.h"
#include "test.h"

#include <string.h>

static struct partition part;

static unsigned count_due(struct observer *o, struct partition **only, unsigned calls)
{
    unsigned due = 0;
    for (unsigned i = 0; i < calls; i++) due += observer_is_due(o, only);
    return due;
}

TEST(observer, window_ends_after_its_calls)
{
    struct partition *only = NULL;
    struct observer *o = observer_new(&part, 0);
    CHECK(o != NULL);
    CHECK_EQ(count_due(o, &only, 1), 0); /* no window is open */
    CHECK(only == &part);
    unsigned due = 0;
    for (int i = 0; i < 100; i++) {
        o->opens = true;
        only = NULL;
        due += count_due(o, &only, OBSERVER_WINDOW - 1);
        CHECK(only == NULL);
        due += count_due(o, &only, 1);
        CHECK(only == &part);
        CHECK_EQ(count_due(o, &only, 1000), 0);
    }
    unsigned expected = 100 * OBSERVER_WINDOW / OBSERVER_EVERY;
    CHECK(due > expected * 3 / 4 && due < expected * 4 / 3);
    observer_free(o);
}

/* A loop of as many calls as one in so many is looked at: each of them is, now and then. */
TEST(observer, is_due_reaches_all_calls_of_a_loop)
{
    struct partition *only = NULL;
    struct observer *o = observer_new(&part, 3);
    unsigned seen[OBSERVER_EVERY];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 50 * OBSERVER_WINDOW; i++) {
        o->opens = true;
        seen[i % OBSERVER_EVERY] += observer_is_due(o, &only);
    }
    for (unsigned i = 0; i < OBSERVER_EVERY; i++) CHECK(seen[i] > 10);
    observer_free(o);
}

TEST(observer, note_keeps_keys_when_wanted)
{
    static locus_key keys[OBSERVER_KEYS], out[OBSERVER_KEYS];
    uint64_t before = 0;
    struct observer *o = observer_new(&part, 0);
    for (size_t i = 0; i < OBSERVER_KEYS; i++) keys[i] = i;
    observer_note(o, true, 1000, keys, 3);
    CHECK_EQ(o->pull.count[9], 1);
    CHECK_EQ(observer_take(o, &before, out), 0);
    o->wants_keys = true;
    observer_note(o, false, 5, keys + 4, 2);
    CHECK_EQ(o->push.sum, 5);
    CHECK_EQ(observer_take(o, &before, out), 2);
    CHECK_EQ(out[1], 5);
    CHECK_EQ(observer_take(o, &before, out), 0);
    for (int i = 0; i < 9; i++) observer_note_keys(o, keys, OBSERVER_KEYS);
    CHECK_EQ(observer_take(o, &before, out), OBSERVER_KEYS); /* the last ones, and no more */
    observer_free(o);
}
