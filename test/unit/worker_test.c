/* What a worker calls, on a cluster of one. */
#include "one_node.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* ---- opening and closing ---- */

TEST(worker, ids_are_the_lowest_free_ones)
{
    locus *n = one_node(4, 1, 3);
    locus_worker *w[3], *more = (locus_worker *)(void *)n;
    for (int i = 0; i < 3; i++) {
        w[i] = worker_of(n);
        CHECK_EQ(locus_worker_id(w[i]), i);
    }
    CHECK_EQ(locus_worker_open(n, &more), -EBUSY);
    CHECK(more == NULL);
    CHECK_STR(locus_error(), "all 3 workers");
    CHECK_EQ(locus_worker_close(w[1]), 0);
    w[1] = worker_of(n);
    CHECK_EQ(locus_worker_id(w[1]), 1);
    for (int i = 0; i < 3; i++) CHECK_EQ(locus_worker_close(w[i]), 0);
    CHECK_EQ(locus_close(n), 0);
}

TEST(worker, a_worker_that_opens_again_starts_at_clock_zero)
{
    locus *n = one_node(4, 1, 1);
    const locus_key key = 2;
    float row = 5;
    locus_worker *w = worker_of(n);
    CHECK_EQ(locus_set(w, &key, 1, &row), 0);
    for (int i = 1; i <= 10; i++) CHECK_EQ(locus_advance_clock(w), i);
    CHECK_EQ(locus_intent(w, &key, 1, 1000, 1001, LOCUS_READ), 0);
    for (int round = 0; round < 100; round++) {
        CHECK_EQ(locus_worker_close(w), 0);
        w = worker_of(n);
        CHECK_EQ(locus_current_clock(w), 0);
        CHECK_EQ(locus_advance_clock(w), 1);
        CHECK_EQ(locus_pull(w, &key, 1, &row), 0);
        CHECK(row == 5); /* rows belong to the node */
    }
    close_both(n, w);
}

/* A locus_change; the context counts its calls. */
static void halve(void *calls, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] /= 2;
    if (calls) ++*(int *)calls;
}

TEST(worker, a_row_is_changed_in_place)
{
    locus *n = one_node(4, 3, 1);
    locus_worker *w = worker_of(n);
    const locus_key key = 2;
    float row[3] = {1, -6, 20};
    int calls = 0;
    struct locus_stats stats;
    CHECK_EQ(locus_set(w, &key, 1, row), 0);
    CHECK_EQ(locus_change_local(w, key, halve, &calls), 0);
    locus_read_begin(w);
    const float *view = locus_view(w, key);
    CHECK_EQ(locus_change_local(w, key, halve, &calls), 0);
    CHECK(view[1] == -1.5F);
    locus_read_end(w);
    CHECK_EQ(calls, 2);
    CHECK_EQ(locus_pull(w, &key, 1, row), 0);
    CHECK(row[0] == 0.25F && row[1] == -1.5F && row[2] == 5);
    CHECK_EQ(locus_stats_read(n, &stats), 0);
    CHECK_EQ(stats.pushed_local, 3);
    close_both(n, w);
}

TEST(worker, nulls_are_refused_with_the_name_of_the_call)
{
    locus *n = one_node(4, 1, 1);
    locus_worker *w = worker_of(n), *none;
    locus_loader *l;
    const locus_key key = 1;
    float row = 0;
    locus_ticket t;
    CHECK_EQ(locus_worker_open(NULL, &none), -EINVAL);
    CHECK(none == NULL);
    CHECK_EQ(locus_worker_open(n, NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_worker_open");
    CHECK_EQ(locus_worker_close(NULL), 0);
    CHECK_EQ(locus_worker_id(NULL), -EINVAL);
    CHECK_EQ(locus_pull(NULL, &key, 1, &row), -EINVAL);
    CHECK_STR(locus_error(), "locus_pull");
    CHECK_EQ(locus_pull(w, NULL, 1, &row), -EINVAL);
    CHECK_STR(locus_error(), "`keys` is NULL for 1 keys");
    CHECK_EQ(locus_pull(w, &key, 1, NULL), -EINVAL);
    CHECK_STR(locus_error(), "`values` is NULL");
    CHECK_EQ(locus_push(NULL, &key, 1, &row), -EINVAL);
    CHECK_STR(locus_error(), "locus_push");
    CHECK_EQ(locus_push(w, NULL, 3, &row), -EINVAL);
    CHECK_STR(locus_error(), "3 keys");
    CHECK_EQ(locus_push(w, &key, 1, NULL), -EINVAL);
    CHECK_STR(locus_error(), "`updates` is NULL");
    CHECK_EQ(locus_set(NULL, &key, 1, &row), -EINVAL);
    CHECK_EQ(locus_set(w, NULL, 1, &row), -EINVAL);
    CHECK_EQ(locus_set(w, &key, 1, NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_set");
    CHECK_EQ(locus_pull_async(w, &key, 1, &row, NULL), -EINVAL);
    CHECK_STR(locus_error(), "ticket");
    CHECK_EQ(locus_push_async(w, &key, 1, &row, NULL), -EINVAL);
    CHECK_EQ(locus_set_async(w, &key, 1, &row, NULL), -EINVAL);
    CHECK_EQ(locus_localize_async(w, &key, 1, NULL), -EINVAL);
    CHECK_EQ(locus_pull_async(NULL, &key, 1, &row, &t), -EINVAL);
    CHECK_EQ(locus_wait(NULL, 0), -EINVAL);
    CHECK_EQ(locus_wait_all(NULL), -EINVAL);
    CHECK_EQ(locus_pull_local(NULL, 1, &row), -EINVAL);
    CHECK_EQ(locus_pull_local(w, 1, NULL), -EINVAL);
    CHECK_EQ(locus_change_local(NULL, 1, halve, NULL), -EINVAL);
    CHECK_EQ(locus_change_local(w, 1, NULL, NULL), -EINVAL);
    CHECK_STR(locus_error(), "`change` is NULL");
    CHECK_EQ(locus_intent(NULL, &key, 1, 0, 1, LOCUS_READ), -EINVAL);
    CHECK_EQ(locus_intent(w, NULL, 1, 0, 1, LOCUS_READ), -EINVAL);
    CHECK_EQ(locus_localize(NULL, &key, 1), -EINVAL);
    CHECK_EQ(locus_localize(w, NULL, 1), -EINVAL);
    CHECK_EQ(locus_loader_open(NULL, &l), -EINVAL);
    CHECK(l == NULL);
    CHECK_EQ(locus_loader_open(w, NULL), -EINVAL);
    CHECK_EQ(locus_loader_intent(NULL, &key, 1, 0, 1, LOCUS_READ), -EINVAL);
    CHECK_EQ(locus_loader_close(NULL), 0);
    CHECK_EQ(locus_barrier(NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_barrier");
    CHECK_EQ(locus_quiesce(NULL), -EINVAL);
    CHECK_EQ(locus_advance_clock(NULL), 0);
    CHECK_EQ(locus_current_clock(NULL), 0);
    locus_read_begin(NULL);
    CHECK(locus_view(NULL, 1) == NULL);
    locus_read_end(NULL);
    locus_prefetch(NULL, &key, 1);
    locus_prefetch(w, NULL, 1);
    CHECK_EQ(locus_pull(w, &key, 1, &row), 0);
    CHECK(row == 0); /* none of these wrote anything */
    close_both(n, w);
}

TEST(worker, no_keys_are_no_work)
{
    locus *n = one_node(4, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *l;
    locus_ticket t = 99;
    CHECK_EQ(locus_loader_open(w, &l), 0);
    CHECK_EQ(locus_pull(w, NULL, 0, NULL), 0);
    CHECK_EQ(locus_push(w, NULL, 0, NULL), 0);
    CHECK_EQ(locus_set(w, NULL, 0, NULL), 0);
    CHECK_EQ(locus_pull_async(w, NULL, 0, NULL, &t), 0);
    CHECK_EQ(t, 0);
    t = 99;
    CHECK_EQ(locus_push_async(w, NULL, 0, NULL, &t), 0);
    CHECK_EQ(t, 0);
    t = 99;
    CHECK_EQ(locus_set_async(w, NULL, 0, NULL, &t), 0);
    CHECK_EQ(t, 0);
    CHECK_EQ(locus_intent(w, NULL, 0, 0, 1, LOCUS_READ), 0);
    CHECK_EQ(locus_loader_intent(l, NULL, 0, 0, 1, LOCUS_READ), 0);
    CHECK_EQ(locus_localize(w, NULL, 0), 0);
    CHECK_EQ(locus_localize_async(w, NULL, 0, &t), 0);
    locus_prefetch(w, NULL, 0);
    struct locus_stats s = stats_of(n);
    CHECK_EQ(s.pulled_local + s.pushed_local + s.intents_signaled, 0);
    CHECK_EQ(locus_loader_close(l), 0);
    close_both(n, w);
}

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

static void one_key_at_a_time(unsigned shards)
{
    locus *n = node_of_all_lengths(shards);
    locus_worker *w = worker_of(n);
    float *row = floats_of(100000);
    for (locus_key k = 0; k < KEYS; k++) {
        row[0] = 7;
        CHECK_EQ(locus_pull(w, &k, 1, row), 0);
        check_row(row, k, 0);
        fill(row, k);
        CHECK_EQ(k % 2 ? locus_push(w, &k, 1, row) : locus_set(w, &k, 1, row), 0);
        CHECK_EQ(locus_push(w, &k, 1, row), 0);
    }
    for (locus_key k = 0; k < KEYS; k++) {
        CHECK_EQ(locus_pull(w, &k, 1, row), 0);
        check_row(row, k, 2);
        fill(row, k);
        CHECK_EQ(locus_set(w, &k, 1, row), 0);
        CHECK_EQ(locus_pull_local(w, k, row), 0);
        check_row(row, k, 1);
    }
    free(row);
    close_both(n, w);
}

TEST(worker, rows_of_any_length_one_key_at_a_time)
{
    for (unsigned shards = 1; shards <= 7; shards += shards == 3 ? 4 : 1) one_key_at_a_time(shards);
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
    CHECK_EQ(locus_set(w, keys, KEYS, updates), 0);
    CHECK_EQ(locus_pull(w, keys, KEYS, rows), 0);
    for (int i = 0; i < KEYS; i++) check_row(rows + offset[i], keys[i], 1);
    free(rows);
    free(updates);
    close_both(n, w);
}

TEST(worker, rows_of_different_lengths_in_one_call)
{
    for (unsigned shards = 1; shards <= 7; shards += shards == 3 ? 4 : 1) mixed_lengths(shards);
}

TEST(worker, calls_with_any_number_of_keys)
{
    locus *n = one_node(3000, 3, 1);
    locus_worker *w = worker_of(n);
    locus_key *keys = calloc(3000, sizeof *keys);
    float *rows = floats_of(3 * 3000);
    CHECK(keys != NULL);
    for (locus_key k = 0; k < 3000; k++) {
        keys[k] = k;
        for (int i = 0; i < 3; i++) rows[3 * k + (locus_key)i] = (float)(k + (locus_key)i);
    }
    CHECK_EQ(locus_set(w, keys, 3000, rows), 0);
    for (size_t count = 1; count <= 3000; count = count < 70 ? count + 1 : count * 3 / 2) {
        memset(rows, 0xff, 3 * 3000 * sizeof *rows);
        size_t first = 3000 - count;
        CHECK_EQ(locus_pull(w, keys + first, count, rows), 0);
        for (size_t i = 0; i < 3 * count; i++) {
            size_t expected = first + i / 3 + i % 3;
            CHECK(rows[i] == (float)expected);
        }
        if (count < 3000) CHECK(isnan(rows[3 * count])); /* not one float more */
    }
    free(keys);
    free(rows);
    close_both(n, w);
}

TEST(worker, a_key_may_repeat_within_a_call)
{
    locus *n = one_node(10, 2, 1);
    locus_worker *w = worker_of(n);
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
    close_both(n, w);
}

static void check_same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK(a[i] == b[i]);
}

TEST(worker, a_key_out_of_range_is_named_and_nothing_is_done)
{
    locus *n = one_node(10, 2, 1);
    locus_worker *w = worker_of(n);
    const locus_key good[] = {0, 9}, bad[] = {9, 0, 10, UINT64_MAX};
    float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
    locus_ticket t;
    CHECK_EQ(locus_set(w, good, 2, rows), 0);
    CHECK_EQ(locus_set(w, bad, 4, rows), -EINVAL);
    CHECK_STR(locus_error(), "locus_set: key 10 (position 2)");
    CHECK_STR(locus_error(), "0 to 9");
    CHECK_EQ(locus_push(w, bad, 4, rows), -EINVAL);
    CHECK_STR(locus_error(), "locus_push: key 10");
    CHECK_EQ(locus_push_async(w, bad, 4, rows, &t), -EINVAL);
    memcpy(before, rows, sizeof rows);
    CHECK_EQ(locus_pull(w, bad, 4, rows), -EINVAL);
    CHECK_STR(locus_error(), "locus_pull: key 10");
    CHECK_EQ(locus_pull(w, &bad[3], 1, rows), -EINVAL);
    CHECK_STR(locus_error(), "18446744073709551615 (position 0)");
    CHECK_EQ(locus_pull_local(w, 10, rows), -EINVAL);
    CHECK_STR(locus_error(), "key 10");
    CHECK_EQ(locus_change_local(w, 10, halve, NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_change_local: key 10");
    check_same(rows, before, 8);
    CHECK_EQ(locus_localize(w, bad, 4), -EINVAL);
    CHECK_STR(locus_error(), "locus_localize: key 10");
    CHECK_EQ(locus_intent(w, bad, 4, 0, 1, LOCUS_READ), -EINVAL);
    CHECK_STR(locus_error(), "locus_intent: key 10");
    CHECK_EQ(locus_pull(w, good, 2, rows), 0);
    check_same(rows, before, 4);
    close_both(n, w);
}

TEST(worker, reading_a_row_never_written_does_not_write_it)
{
    locus *n = one_node(1000, 16, 1);
    locus_worker *w = worker_of(n);
    float row[16];
    for (locus_key k = 0; k < 1000; k++) {
        memset(row, 0xff, sizeof row);
        CHECK_EQ(locus_pull(w, &k, 1, row), 0);
        for (int i = 0; i < 16; i++) CHECK(row[i] == 0);
    }
    close_both(n, w);
}

/* ---- asynchronous forms ---- */

TEST(worker, asynchronous_calls_are_complete_when_all_rows_are_here)
{
    locus *n = one_node(10, 2, 1);
    locus_worker *w = worker_of(n);
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
    CHECK_EQ(locus_wait(w, 0), 0);
    CHECK_EQ(locus_wait_all(w), 0);
    close_both(n, w);
}

TEST(worker, a_ticket_never_given_out_is_refused)
{
    locus *n = one_node(10, 2, 1);
    locus_worker *w = worker_of(n);
    CHECK_EQ(locus_wait(w, 4711), -EINVAL);
    CHECK_STR(locus_error(), "ticket 4711");
    close_both(n, w);
}

/* ---- views ---- */

TEST(worker, a_view_is_the_row_in_place)
{
    locus *n = one_node(10, 16, 1);
    locus_worker *w = worker_of(n);
    const locus_key key = 3;
    float row[16];
    for (int i = 0; i < 16; i++) row[i] = (float)i;
    CHECK_EQ(locus_set(w, &key, 1, row), 0);
    locus_read_begin(w);
    const float *view = locus_view(w, key);
    for (int i = 0; i < 16; i++) CHECK(view[i] == (float)i);
    CHECK_EQ(locus_push(w, &key, 1, row), 0); /* all rows are here: nothing waits */
    for (int i = 0; i < 16; i++) CHECK(view[i] == (float)(2 * i));
    CHECK(locus_view(w, key) == view);
    CHECK_EQ(locus_pull(w, &key, 1, row), 0);
    CHECK(row[15] == 30);
    locus_read_end(w);
    close_both(n, w);
}

TEST(worker, a_view_of_a_row_never_written_is_zeros_until_it_is_asked_for_again)
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

TEST(worker, there_is_no_view_of_no_key_and_none_outside_a_section)
{
    locus *n = one_node(10, 16, 1);
    locus_worker *w = worker_of(n);
    CHECK(locus_view(w, 3) == NULL);
    locus_read_begin(w);
    CHECK(locus_view(w, 3) != NULL);
    CHECK(locus_view(w, 10) == NULL);
    CHECK(locus_view(w, UINT64_MAX) == NULL);
    locus_read_end(w);
    CHECK(locus_view(w, 3) == NULL);
    locus_read_end(w); /* one too many does no harm */
    locus_read_begin(w);
    CHECK(locus_view(w, 3) != NULL);
    locus_read_end(w);
    CHECK(locus_view(w, 3) == NULL);
    close_both(n, w);
}

TEST(worker, sections_nest)
{
    locus *n = one_node(10, 16, 1);
    locus_worker *w = worker_of(n);
    for (int depth = 0; depth < 100; depth++) locus_read_begin(w);
    for (int depth = 99; depth > 0; depth--) {
        locus_read_end(w);
        CHECK(locus_view(w, 3) != NULL);
    }
    locus_read_end(w);
    CHECK(locus_view(w, 3) == NULL);
    close_both(n, w);
}

TEST(worker, what_would_wait_is_refused_inside_a_section)
{
    locus *n = one_node(10, 16, 1);
    locus_worker *w = worker_of(n);
    locus_read_begin(w);
    locus_read_begin(w);
    locus_read_end(w);
    CHECK_EQ(locus_barrier(w), -EDEADLK);
    CHECK_STR(locus_error(), "locus_barrier");
    CHECK_STR(locus_error(), "read section");
    CHECK_EQ(locus_quiesce(w), -EDEADLK);
    CHECK_STR(locus_error(), "locus_quiesce");
    CHECK_EQ(locus_worker_close(w), -EDEADLK);
    CHECK_STR(locus_error(), "locus_worker_close");
    CHECK_EQ(locus_close(n), -EBUSY); /* it is still open */
    CHECK_EQ(locus_wait_all(w), 0);   /* nothing to wait for */
    locus_read_end(w);
    CHECK_EQ(locus_barrier(w), 0);
    CHECK_EQ(locus_quiesce(w), 0);
    close_both(n, w);
}

TEST(worker, prefetching_changes_nothing)
{
    locus *n = one_node(200, 16, 1);
    locus_worker *w = worker_of(n);
    locus_key keys[200];
    float row[16];
    for (locus_key k = 0; k < 200; k++) keys[k] = k;
    locus_prefetch(w, keys, 200);
    keys[0] = 200;
    locus_prefetch(w, keys, 1);
    keys[0] = UINT64_MAX;
    locus_prefetch(w, keys, 200);
    CHECK_EQ(locus_pull(w, &keys[1], 1, row), 0);
    CHECK(row[0] == 0);
    CHECK_EQ(stats_of(n).pulled_local, 1);
    close_both(n, w);
}

/* ---- intent and clocks ---- */

TEST(worker, clocks_start_at_zero_and_advance_by_one)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *a = worker_of(n), *b = worker_of(n);
    CHECK_EQ(locus_current_clock(a), 0);
    CHECK_EQ(locus_advance_clock(a), 1);
    CHECK_EQ(locus_advance_clock(a), 2);
    CHECK_EQ(locus_current_clock(a), 2);
    CHECK_EQ(locus_current_clock(b), 0);
    CHECK_EQ(locus_worker_close(b), 0);
    close_both(n, a);
}

TEST(worker, a_wrong_intent_names_what_is_wrong_and_is_not_recorded)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *l;
    const locus_key keys[] = {3, 10};
    CHECK_EQ(locus_loader_open(w, &l), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 5, LOCUS_READ), -EINVAL);
    CHECK_STR(locus_error(), "clock 5");
    CHECK_EQ(locus_intent(w, keys, 1, 5, 4, LOCUS_READ), -EINVAL);
    CHECK_STR(locus_error(), "clock 4");
    CHECK_EQ(locus_intent(w, keys, 1, INT64_MAX, INT64_MIN, LOCUS_READ), -EINVAL);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, 0), -EINVAL);
    CHECK_STR(locus_error(), "access is 0");
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, 4), -EINVAL);
    CHECK_STR(locus_error(), "access is 4");
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, -1), -EINVAL);
    CHECK_EQ(locus_intent(w, keys, 2, 5, 6, LOCUS_READ), -EINVAL);
    CHECK_STR(locus_error(), "key 10 (position 1)");
    CHECK_EQ(locus_loader_intent(l, keys, 2, 5, 6, LOCUS_READ), -EINVAL);
    CHECK_STR(locus_error(), "locus_loader_intent: key 10");
    CHECK_EQ(stats_of(n).intents_signaled, 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, LOCUS_WRITE), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, LOCUS_READ_WRITE), 0);
    CHECK_EQ(locus_loader_intent(l, keys, 1, 5, 6, LOCUS_READ), 0);
    CHECK_EQ(stats_of(n).intents_signaled, 4);
    CHECK_EQ(locus_loader_close(l), 0);
    close_both(n, w);
}

TEST(worker, intents_may_begin_in_the_past_overlap_and_repeat)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    const locus_key keys[] = {3, 3, 4};
    for (int i = 0; i < 100; i++) locus_advance_clock(w);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 200, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 5, 6, LOCUS_READ), 0); /* over already */
    CHECK_EQ(locus_intent(w, keys, 3, INT64_MIN, INT64_MAX, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 300, LOCUS_READ_WRITE), 0);
    CHECK_EQ(locus_intent(w, keys, 3, 150, 400, LOCUS_READ_WRITE), 0);
    close_both(n, w);
}

/* 16 million keys, a quarter of a million a call. */

enum { CALL = 250000, CALLS = LOCUS_WAITING_KEYS_MAX / CALL };

TEST(worker, a_node_bounds_the_keys_that_wait_for_their_start)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *l;
    locus_key *keys = calloc(CALL, sizeof *keys);
    float row = 4;
    CHECK(keys != NULL);
    CHECK_EQ(locus_loader_open(w, &l), 0);
    for (int i = 0; i < CALLS - 1; i++)
        CHECK_EQ(locus_intent(w, keys, CALL, 10 + i, 1000, LOCUS_READ), 0);
    CHECK_EQ(locus_loader_intent(l, keys, CALL, 5, 6, LOCUS_READ), 0); /* exactly the limit */
    CHECK_EQ(locus_intent(w, keys, 1, 5, 6, LOCUS_READ), -ENOBUFS);
    CHECK_STR(locus_error(), "16000000 keys");
    CHECK_EQ(locus_loader_intent(l, keys, CALL, 5, 6, LOCUS_READ), -ENOBUFS);
    CHECK_STR(locus_error(), "250000 more");
    CHECK_EQ(stats_of(n).intents_signaled, LOCUS_WAITING_KEYS_MAX);
    CHECK_EQ(locus_intent(w, keys, CALL, 0, 1, LOCUS_READ), 0); /* starts now: does not wait */
    CHECK_EQ(locus_set(w, keys, 1, &row), 0);                   /* accesses still work */
    CHECK_EQ(locus_pull(w, keys, 1, &row), 0);
    CHECK(row == 4);
    for (int i = 0; i < 5; i++) locus_advance_clock(w); /* the loader's have started */
    CHECK_EQ(locus_intent(w, keys, CALL, 6, 7, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 6, 7, LOCUS_READ), -ENOBUFS);
    CHECK_EQ(locus_loader_close(l), 0);
    CHECK_EQ(locus_worker_close(w), 0); /* its intents end */
    w = worker_of(n);
    for (int i = 0; i < CALLS; i++) CHECK_EQ(locus_intent(w, keys, CALL, 10, 11, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w, keys, 1, 10, 11, LOCUS_READ), -ENOBUFS);
    free(keys);
    close_both(n, w);
}

TEST(worker, the_bound_is_the_node_s_not_each_worker_s)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *w[2] = {worker_of(n), worker_of(n)};
    locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(locus_intent(w[i % 2], keys, CALL, 10, 11, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w[0], keys, 1, 10, 11, LOCUS_READ), -ENOBUFS);
    CHECK_EQ(locus_intent(w[1], keys, 1, 10, 11, LOCUS_READ), -ENOBUFS);
    CHECK_EQ(locus_worker_close(w[1]), 0);
    for (int i = 0; i < CALLS / 2; i++)
        CHECK_EQ(locus_intent(w[0], keys, CALL, 10, 11, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w[0], keys, 1, 10, 11, LOCUS_READ), -ENOBUFS);
    free(keys);
    close_both(n, w[0]);
}

/* Advancing the clock does nothing about it: room is looked for when there is none. */
TEST(worker, what_started_on_a_worker_that_signals_no_more_makes_room_for_another)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *w[2] = {worker_of(n), worker_of(n)};
    locus_key *keys = calloc(CALL, sizeof *keys);
    CHECK(keys != NULL);
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(locus_intent(w[0], keys, CALL, 1 + i % 2, 11, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w[1], keys, 1, 10, 11, LOCUS_READ), -ENOBUFS);
    locus_advance_clock(w[0]);
    /* Some thousand fewer than half: w[0] holds them in reserve. */
    for (int i = 0; i < CALLS / 2 - 1; i++)
        CHECK_EQ(locus_intent(w[1], keys, CALL, 10, 11, LOCUS_READ), 0);
    CHECK_EQ(locus_intent(w[1], keys, CALL, 10, 11, LOCUS_READ), -ENOBUFS);
    CHECK_EQ(locus_worker_close(w[0]), 0);
    free(keys);
    close_both(n, w[1]);
}

TEST(worker, localize_needs_keys_that_exist)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    const locus_key keys[] = {3, 9, 3};
    CHECK_EQ(locus_localize(w, keys, 3), 0);
    struct locus_stats s = stats_of(n);
    CHECK_EQ(s.relocated_in + s.relocated_out, 0);
    close_both(n, w);
}

/* ---- loaders ---- */

TEST(worker, a_worker_with_open_loaders_does_not_close)
{
    locus *n = one_node(10, 1, 1);
    locus_worker *w = worker_of(n);
    locus_loader *a, *b;
    CHECK_EQ(locus_loader_open(w, &a), 0);
    CHECK_EQ(locus_loader_open(w, &b), 0);
    CHECK_EQ(locus_worker_close(w), -EBUSY);
    CHECK_STR(locus_error(), "2 loaders of worker 0");
    CHECK_EQ(locus_loader_close(a), 0);
    CHECK_EQ(locus_worker_close(w), -EBUSY);
    CHECK_STR(locus_error(), "1 loaders");
    CHECK_EQ(locus_advance_clock(w), 1); /* it still works */
    CHECK_EQ(locus_loader_close(b), 0);
    close_both(n, w);
}

enum { LOADERS = 4, BATCHES = 3000, TRAINED_KEYS = 100, PUSHES = BATCHES / TRAINED_KEYS };

/* Prepares every LOADERS-th batch: signals it ahead, from any clock of the worker. */
struct loading {
    locus_worker *worker;
    unsigned number;
    pthread_t thread;
};

static void *load(void *argument)
{
    struct loading *l = argument;
    locus_loader *loader;
    locus_clock last = 0;
    CHECK_EQ(locus_loader_open(l->worker, &loader), 0);
    for (unsigned batch = l->number; batch < BATCHES; batch += LOADERS) {
        const locus_key keys[] = {batch % 100, batch % 37};
        locus_clock now = locus_current_clock(l->worker);
        CHECK(now >= last); /* a clock does not go back */
        last = now;
        CHECK_EQ(
            locus_loader_intent(loader, keys, 2, now + 1 + batch % 5, now + 10, LOCUS_READ_WRITE),
            0);
    }
    CHECK_EQ(locus_loader_close(loader), 0);
    return NULL;
}

TEST(worker, loaders_signal_while_the_worker_trains)
{
    locus *n = one_node(100, 4, 1);
    locus_worker *w = worker_of(n);
    struct loading l[LOADERS];
    const float ones[4] = {1, 1, 1, 1};
    float row[4];
    for (unsigned i = 0; i < LOADERS; i++) {
        l[i] = (struct loading){.worker = w, .number = i};
        CHECK_EQ(pthread_create(&l[i].thread, NULL, load, &l[i]), 0);
    }
    for (locus_key step = 0; step < BATCHES; step++) {
        const locus_key key = step % TRAINED_KEYS;
        CHECK_EQ(locus_push(w, &key, 1, ones), 0);
        CHECK_EQ(locus_advance_clock(w), step + 1);
    }
    for (unsigned i = 0; i < LOADERS; i++) CHECK_EQ(pthread_join(l[i].thread, NULL), 0);
    CHECK_EQ(stats_of(n).intents_signaled, 2 * BATCHES);
    for (locus_key k = 0; k < TRAINED_KEYS; k++) {
        CHECK_EQ(locus_pull(w, &k, 1, row), 0);
        CHECK(row[0] == PUSHES && row[3] == PUSHES);
    }
    for (int i = 0; i < 20; i++) locus_advance_clock(w);
    close_both(n, w);
}
