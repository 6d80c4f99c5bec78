#include "params.h"
#include "pools.h"
#include "test.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

TEST(pool, shares_are_whole_and_even)
{
    for (uint64_t total = 0; total < 40; total++) {
        for (unsigned places = 1; places < 9; places++) {
            uint64_t next = 0;
            for (unsigned place = 0; place < places; place++) {
                uint64_t first, end;
                pool_share(total, place, places, &first, &end);
                CHECK_EQ(first, next);
                CHECK(end - first == total / places || end - first == total / places + 1);
                next = end;
            }
            CHECK_EQ(next, total);
        }
    }
}

static void run(unsigned workers, bool is_baseline, pool_work *work, void *context)
{
    const struct locus_table tables[] = {{.rows = 10, .length = 4}, {.rows = 3, .length = 2}};
    pools_run(tables, 2, workers, is_baseline, work, context);
}

static const double large = 9007199254740991.0; /* 2^53 - 1 */

static void sum(struct pool_member *m, void *unused)
{
    (void)unused;
    for (int round = 0; round < 20; round++) {
        double figures[] = {1,        m->index,   m->index == 0 ? large : 0,   0.1,
                            0x1p1000, -0x1p-1000, m->index == 0 ? INFINITY : 0};
        pool_sum(m, figures, 7);
        CHECK_EQ(figures[0], m->total);
        CHECK_EQ(figures[1], m->total * (m->total - 1) / 2);
        CHECK(figures[2] == large);
        CHECK(figures[4] == m->total * 0x1p1000 && figures[5] == m->total * -0x1p-1000);
        CHECK(isinf(figures[6]));
        CHECK(figures[3] > 0.0999999 * m->total && figures[3] < 0.1000001 * m->total);
    }
    double many[2 * POOL_FIGURES_MAX + 1];
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) many[i] = (double)i;
    pool_sum(m, many, sizeof many / sizeof *many);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) CHECK_EQ(many[i], i * m->total);
}

TEST(pool, sums_are_exact)
{
    for (unsigned i = 0; i < 8; i++) run(1 + i / 2, i % 2, sum, NULL);
}

static void take(struct pool_member *m, void *first)
{
    for (int round = 0; round < 20; round++) {
        int mine = m->index == 0 ? round : -1;
        CHECK_EQ(*(const int *)pool_first_gives(m, &mine), round);
        pool_meet_here(m);
    }
    if (m->index == 0) ++*(int *)first;
}

TEST(pool, all_take_what_the_first_gives)
{
    int first = 0;
    run(4, true, take, &first);
    CHECK_EQ(first, 1);
}

/* ---- rows ---- */

/* A locus_change: adds 1, 2, 3... */
static void add_ramp(void *calls, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] += (float)(i + 1);
    ++*(int *)calls;
}

/* Odd rounds note what is to be added, even ones change rows in place. */
static void use_rows(struct pool_member *m, void *unused)
{
    const locus_key keys[] = {9, 12, 0};
    const float *rows[3];
    CLOSED_BY(params_close) struct params p;
    (void)unused;
    params_open(&p, m, 3, 10);
    for (int round = 0; round < 50; round++) {
        struct params_update *u = params_begin(&p);
        params_prefetch(&p, keys, 3);
        params_read(&p, keys, 3, rows);
        CHECK(rows[0][0] == (float)round && rows[0][3] == (float)(4 * round));
        CHECK(rows[1][0] == (float)round && rows[1][1] == (float)(2 * round));
        CHECK(rows[2][1] == (float)(2 * round));
        int calls = 0;
        for (int i = 0; i < 3; i++) {
            uint32_t length = i == 1 ? 2 : 4;
            float *noted = NULL;
            if (round % 2) {
                memcpy(params_note(u, keys[i], length), (float[]){1, 2, 3, 4},
                       length * sizeof(float));
            } else {
                params_change(&p, u, keys[i], rows[i], add_ramp, &calls, &noted);
            }
        }
        CHECK_EQ(calls, round % 2 ? 0 : 3);
        params_release(&p);
        params_end(&p, u);
    }
}

TEST(pool, rows_of_locus_and_of_the_baseline_are_used_alike)
{
    for (int baseline = 0; baseline < 2; baseline++) run(1, baseline, use_rows, NULL);
}
