/* Rows in place, on a cluster of one: sections and views. */
#include "pair.h"
#include "locus.h"

#include <stdint.h>

/* ---- views ---- */

TEST_ON_NODE(reading, view_is_the_row_in_place, 10, 16)
{
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
}

TEST_ON_NODE(reading, view_is_null_of_no_key_and_outside_a_section, 10, 16)
{
    CHECK(locus_view(w, 3) == NULL);
    CHECK_STR(locus_error(), "locus_view: no read section is open: call locus_read_begin first");
    CHECK(locus_view(NULL, 3) == NULL);
    CHECK_STR(locus_error(), "locus_view: ");
    for (int depth = 0; depth < 100; depth++) locus_read_begin(w); /* sections nest */
    for (int depth = 99; depth > 0; depth--) locus_read_end(w);
    CHECK(locus_view(w, 3) != NULL);
    CHECK(locus_view(w, 10) == NULL);
    CHECK_STR(locus_error(), "locus_view: key 10");
    CHECK(locus_view(w, UINT64_MAX) == NULL);
    locus_read_end(w);
    CHECK(locus_view(w, 3) == NULL);
    locus_read_end(w); /* one too many does no harm */
    locus_read_begin(w);
    CHECK(locus_view(w, 3) != NULL);
    locus_read_end(w);
    CHECK(locus_view(w, 3) == NULL);
}

TEST_ON_NODE(reading, section_refuses_calls_that_would_wait, 10, 16)
{
    locus_read_begin(w);
    locus_read_begin(w);
    locus_read_end(w);
    REFUSED(locus_barrier(w), -EDEADLK, "locus_barrier");
    REFUSED(locus_sum(w, (double[]){1}, 1), -EDEADLK, "read section");
    REFUSED(locus_quiesce(w), -EDEADLK, "locus_quiesce");
    REFUSED(locus_worker_close(w), -EDEADLK, "locus_worker_close");
    CHECK_EQ(locus_close(n), -EBUSY); /* it is still open */
    CHECK_EQ(locus_wait_all(w), 0);   /* nothing to wait for */
    locus_read_end(w);
    CHECK_EQ(locus_barrier(w), 0);
    CHECK_EQ(locus_quiesce(w), 0);
}

TEST_ON_NODE(reading, change_local_changes_the_row_in_place, 4, 3)
{
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
}

/* ---- rows in place or fetched ---- */

TEST(reading, read_rows_returns_rows_in_place_or_copies_of_all)
{
    static const struct locus_table tables[] = {{.rows = 100, .length = 2},
                                                {.rows = 100, .length = 3}};
    CLOSED_BY(pair_end) struct pair p;
    float copies[10], values[5] = {1, 2, 3, 4, 5};
    const float *rows[4];
    pair_init(&p, tables, 2);
    pair_open(&p);
    locus_worker *w = p.worker[0];
    const locus_key here[] = {pair_key_of(&p, 0, 0), pair_key_of(&p, 0, 100)};
    const locus_key far = pair_key_of(&p, 1, 100), mixed[] = {here[0], far, here[1], here[0]};
    CHECK_EQ(locus_set(w, here, 2, values), 0);
    CHECK_EQ(locus_set(w, &far, 1, (float[]){6, 7, 8}), 0);
    for (int with_copies = 0; with_copies < 2; with_copies++) {
        int rc = locus_read_rows(w, here, 2, with_copies ? copies : NULL, rows);
#ifdef LOCUS_TSAN
        if (rc == 0) continue;
#endif
        CHECK_EQ(rc, 1);
        CHECK(rows[0] == locus_view(w, here[0]) && rows[1] == locus_view(w, here[1]));
        CHECK(rows[0][1] == 2 && rows[1][2] == 5);
        CHECK_EQ(locus_read_rows(w, mixed, 4, copies, rows), -EDEADLK);
        locus_read_end(w);
    }
    CHECK_EQ(locus_read_rows(w, mixed, 4, NULL, rows), 0);
    CHECK_EQ(locus_read_rows(w, mixed, 4, copies, rows), 0);
    CHECK(rows[0] == copies && rows[3] == copies + 8);
    CHECK(rows[0][0] == 1 && rows[1][2] == 8 && rows[2][0] == 3 && rows[3][1] == 2);
    CHECK(locus_view(w, here[0]) == NULL); /* no section was left open */
    REFUSED(locus_read_rows(w, mixed, 4, copies, NULL), -EINVAL,
            "locus_read_rows: `rows` is NULL for 4 keys");
    CHECK_EQ(locus_read_rows(w, (locus_key[]){200}, 1, copies, rows), -EINVAL);
    CHECK_EQ(locus_read_rows(NULL, mixed, 4, copies, rows), -EINVAL);
}
