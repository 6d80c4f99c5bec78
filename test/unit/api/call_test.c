#include "api/call.h"

#include "one_node.h"

enum { ROWS = 10 };

static int check(locus_worker *w, const locus_key *keys, size_t n, const void *values)
{
    return call_check("locus_pull", "values", w, keys, n, values);
}

TEST_ON_NODE(call, names_what_is_missing, ROWS, 1)
{
    const locus_key key = 0;
    float value;
    REFUSED(check(NULL, &key, 1, &value), -EINVAL, "locus_pull: the worker is NULL");
    REFUSED(check(w, NULL, 3, &value), -EINVAL, "locus_pull: `keys` is NULL for 3 keys");
    REFUSED(check(w, &key, 1, NULL), -EINVAL, "locus_pull: `values` is NULL for 1 keys");
    CHECK_EQ(check(w, &key, 1, &value), 0);
}

/* The first one that is out of range, wherever it stands. */
TEST_ON_NODE(call, names_the_key_that_cannot_be, ROWS, 1)
{
    float values[4];
    for (size_t at = 0; at < 4; at++) {
        locus_key keys[4] = {0, ROWS - 1, 3, 4};
        char position[32];
        snprintf(position, sizeof position, "(position %zu)", at);
        CHECK_EQ(check(w, keys, 4, values), 0);
        keys[at] = ROWS;
        keys[3] = at < 3 ? UINT64_MAX : ROWS; /* a later one does not count */
        REFUSED(check(w, keys, 4, values), -EINVAL, "locus_pull: key 10 ");
        CHECK_STR(locus_error(), position);
        CHECK_STR(locus_error(), "valid keys are 0 to 9");
    }
}

TEST_ON_NODE(call, results_of_one_node_are_nobodys_loss, ROWS, 1)
{
    CHECK_EQ(call_name_loss(w, 0), 0);
    CHECK_EQ(call_name_loss(w, -ECONNRESET), -ECONNRESET);
    CHECK_EQ(call_name_loss(w, -EINVAL), -EINVAL);
}

TEST(call, what_would_wait_in_a_section_says_how_to_leave_it)
{
    REFUSED(call_in_section("locus_pull"), -EDEADLK,
            "locus_pull: would wait inside a read section: call locus_read_end()");
    REFUSED(call_no_slot("locus_set"), -ENOMEM, "locus_set: no memory for a row");
}

/* One counter a place: the sum is what was read. */
TEST_ON_NODE(call, reads_are_counted_by_place, ROWS, 1)
{
    uint64_t local = w->counters.pulled[COUNT_LOCAL], replica = w->counters.pulled[COUNT_REPLICA];
    for (int i = 0; i < 5; i++) count_read(w, 0);
    for (int i = 0; i < 3; i++) count_read(w, 1);
    CHECK_EQ(w->counters.pulled[COUNT_LOCAL], local + 5);
    CHECK_EQ(w->counters.pulled[COUNT_REPLICA], replica + 3);
}
