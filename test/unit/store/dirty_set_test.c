#include "store/store.h"

#include "test.h"

enum { TAKEN_MAX = 300 };

struct taken {
    uint64_t index[TAKEN_MAX];
    size_t count;
};

static void note(void *context, uint64_t index)
{
    struct taken *t = context;
    CHECK(t->count < TAKEN_MAX);
    t->index[t->count++] = index;
}

static struct taken take_all(struct dirty_set *m)
{
    struct taken t = {.count = 0};
    dirty_set_take(m, note, &t);
    return t;
}

static void check_taken(struct dirty_set *m, const uint64_t *index, size_t count)
{
    struct taken t = take_all(m);
    CHECK_EQ(t.count, count);
    for (size_t i = 0; i < count; i++) CHECK_EQ(t.index[i], index[i]);
    CHECK(dirty_set_is_empty(m));
}

TEST(dirty_set, take_returns_each_key_once_in_ascending_order)
{
    static const uint64_t set[] = {4095, 0, 64, 63, 4096, 262144, 7, 999999};
    static const uint64_t sorted[] = {0, 7, 63, 64, 4095, 4096, 262144, 999999};
    CLOSED_BY(dirty_set_fini) struct dirty_set m;
    CHECK(dirty_set_init(&m, 1000000));
    CHECK(dirty_set_is_empty(&m));
    check_taken(&m, NULL, 0);
    for (size_t i = 0; i < 8; i++) dirty_set_add(&m, set[i]);
    dirty_set_add(&m, 64); /* again: one mark all the same */
    CHECK(!dirty_set_is_empty(&m));
    check_taken(&m, sorted, 8);
    check_taken(&m, NULL, 0);
    dirty_set_add(&m, 64);
    check_taken(&m, (const uint64_t[]){64}, 1);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

TEST(dirty_set, add_notifies_with_the_first_key_only)
{
    CLOSED_BY(dirty_set_fini) struct dirty_set m;
    int told = 0;
    CHECK(dirty_set_init(&m, 100000));
    m.notify = count_call;
    m.context = &told;
    for (uint64_t i = 0; i < 100000; i += 997) dirty_set_add(&m, i);
    CHECK_EQ(told, 1);
    take_all(&m);
    dirty_set_add(&m, 5);
    CHECK_EQ(told, 2);
}

static void set_once_more(void *context, uint64_t index)
{
    struct dirty_set *m = context;
    static int left = 10;
    if (left-- > 0) dirty_set_add(m, index);
}

/* The taker finds a key that it cannot deal with now, and marks it again. */
TEST(dirty_set, add_during_take_is_found_later)
{
    CLOSED_BY(dirty_set_fini) struct dirty_set m;
    CHECK(dirty_set_init(&m, 5000));
    dirty_set_add(&m, 70);
    for (int i = 0; i < 10; i++) {
        CHECK(!dirty_set_is_empty(&m));
        dirty_set_take(&m, set_once_more, &m);
    }
    check_taken(&m, (const uint64_t[]){70}, 1);
}
