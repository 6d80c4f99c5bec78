/* Rows in and out, on a cluster of one: pull, push, set. */
#include "one_node.h"

#include <string.h>

/* ---- access ---- */

static const uint32_t lengths[] = {1, 2, 15, 16, 17, 100, 1000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 5, KEYS = LENGTHS * ROWS };

static locus *node_of_all_lengths(unsigned shards)
{
    struct locus_table tables[LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        tables[i] = (struct locus_table){.rows = ROWS, .length = lengths[i]};
    return node_of(tables, LENGTHS, 1, shards);
}

static uint32_t length_of(locus_key key)
{
    return lengths[key / ROWS];
}

static float element(locus_key key, uint32_t i)
{
    return (float)(key * 1000 + i % 1000);
}

static void fill(float *row, locus_key key)
{
    for (uint32_t i = 0; i < length_of(key); i++) row[i] = element(key, i);
}

static void check_row(const float *row, locus_key key, float times)
{
    for (uint32_t i = 0; i < length_of(key); i++) CHECK(row[i] == times * element(key, i));
}

static void mixed_lengths(unsigned shards)
{
    locus *n = node_of_all_lengths(shards);
    locus_worker *w = worker_of(n);
    locus_key keys[KEYS];
    size_t offset[KEYS], sum = 0;
    for (int i = 0; i < KEYS; i++) {
        keys[i] = (locus_key)i * 17 % KEYS; /* long and short in turn */
        offset[i] = sum;
        sum += length_of(keys[i]);
    }
    float *rows = floats_of(sum), *updates = floats_of(sum);
    rows[0] = rows[sum - 1] = 3;
    CHECK_EQ(locus_pull(w, keys, KEYS, rows), 0);
    for (int i = 0; i < KEYS; i++) check_row(rows + offset[i], keys[i], 0);
    for (int i = 0; i < KEYS; i++) fill(updates + offset[i], keys[i]);
    CHECK_EQ(locus_push(w, keys, KEYS, updates), 0);
    CHECK_EQ(locus_push(w, keys, KEYS, updates), 0);
    CHECK_EQ(locus_pull(w, keys, KEYS, rows), 0);
    for (int i = 0; i < KEYS; i++) check_row(rows + offset[i], keys[i], 2);
    for (int i = 0; i < KEYS; i++) { /* one key at a time */
        CHECK_EQ(locus_pull(w, &keys[i], 1, rows), 0);
        check_row(rows, keys[i], 2);
        CHECK_EQ(locus_push(w, &keys[i], 1, updates + offset[i]), 0);
        CHECK_EQ(locus_pull_local(w, keys[i], rows), 0);
        check_row(rows, keys[i], 3);
        CHECK_EQ(locus_set(w, &keys[i], 1, updates + offset[i]), 0);
    }
    CHECK_EQ(locus_set(w, keys, KEYS, updates), 0);
    CHECK_EQ(locus_pull(w, keys, KEYS, rows), 0);
    for (int i = 0; i < KEYS; i++) check_row(rows + offset[i], keys[i], 1);
    free(rows);
    free(updates);
    close_both(n, w);
}

TEST(access, calls_take_rows_of_different_lengths)
{
    for (unsigned shards = 1; shards <= 7; shards += shards == 3 ? 4 : 1) mixed_lengths(shards);
}

TEST_ON_NODE(access, calls_take_a_key_several_times, 10, 2)
{
    const locus_key keys[] = {4, 4, 7, 4};
    const float updates[] = {1, 2, 10, 20, 100, 200, 1000, 2000};
    float rows[8];
    CHECK_EQ(locus_push(w, keys, 4, updates), 0); /* the first one writes the row, the others add */
    CHECK_EQ(locus_pull(w, keys, 4, rows), 0);
    CHECK(rows[0] == 1011 && rows[1] == 2022);
    CHECK(rows[2] == 1011 && rows[3] == 2022);
    CHECK(rows[4] == 100 && rows[5] == 200);
    CHECK(rows[6] == 1011 && rows[7] == 2022);
    CHECK_EQ(locus_set(w, keys, 4, updates), 0);
    CHECK_EQ(locus_pull(w, keys, 1, rows), 0);
    CHECK(rows[1] == 2 * rows[0]); /* one of them, whole */
    CHECK(rows[0] == 1 || rows[0] == 10 || rows[0] == 1000);
}

static void check_same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK(a[i] == b[i]);
}

TEST_ON_NODE(access, calls_refuse_keys_out_of_range, 10, 2)
{
    const locus_key good[] = {0, 9}, bad[] = {9, 0, 10, UINT64_MAX};
    float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
    locus_ticket t;
    CHECK_EQ(locus_set(w, good, 2, rows), 0);
    REFUSED(locus_set(w, bad, 4, rows), -EINVAL, "locus_set: key 10 (position 2)");
    CHECK_STR(locus_error(), "0 to 9");
    REFUSED(locus_push(w, bad, 4, rows), -EINVAL, "locus_push: key 10");
    CHECK_EQ(locus_push_async(w, bad, 4, rows, &t), -EINVAL);
    memcpy(before, rows, sizeof rows);
    REFUSED(locus_pull(w, bad, 4, rows), -EINVAL, "locus_pull: key 10");
    REFUSED(locus_pull(w, &bad[3], 1, rows), -EINVAL, "18446744073709551615 (position 0)");
    REFUSED(locus_pull_local(w, 10, rows), -EINVAL, "key 10");
    REFUSED(locus_change_local(w, 10, halve, NULL), -EINVAL, "locus_change_local: key 10");
    check_same(rows, before, 8);
    REFUSED(locus_localize(w, bad, 4), -EINVAL, "locus_localize: key 10");
    REFUSED(locus_intent(w, bad, 4, 0, 1), -EINVAL, "locus_intent: key 10");
    CHECK_EQ(locus_pull(w, good, 2, rows), 0);
    check_same(rows, before, 4);
}

/* ---- asynchronous forms ---- */

TEST_ON_NODE(access, async_calls_of_local_rows_are_complete, 10, 2)
{
    const locus_key keys[] = {1, 2};
    float rows[4] = {1, 2, 3, 4};
    locus_ticket t = 99;
    CHECK_EQ(locus_set_async(w, keys, 2, rows, &t), 0);
    CHECK_EQ(t, 0);
    t = 99;
    CHECK_EQ(locus_push_async(w, keys, 2, rows, &t), 0);
    CHECK_EQ(t, 0);
    t = 99;
    CHECK_EQ(locus_pull_async(w, keys, 2, rows, &t), 0);
    CHECK_EQ(t, 0);
    CHECK(rows[0] == 2 && rows[3] == 8);
    CHECK_EQ(locus_localize_async(w, keys, 2, &t), 0);
    CHECK_EQ(t, 0);
    CHECK(locus_done(w, 0));
    CHECK_EQ(locus_wait(w, 0), 0);
    CHECK_EQ(locus_wait_all(w), 0);
    REFUSED(locus_wait(w, 4711), -EINVAL, "ticket 4711"); /* never given out */
}

TEST(access, view_of_an_unwritten_row_is_zeros)
{
    locus *n = node_of_all_lengths(3);
    locus_worker *w = worker_of(n);
    float *row = floats_of(100000);
    locus_read_begin(w);
    for (locus_key k = 0; k < KEYS; k++) {
        const float *view = locus_view(w, k);
        CHECK(view != NULL);
        check_row(view, k, 0);
        fill(row, k);
        CHECK_EQ(locus_set(w, &k, 1, row), 0);
        check_row(view, k, 0);
        check_row(locus_view(w, k), k, 1);
    }
    locus_read_end(w);
    free(row);
    close_both(n, w);
}
