/* Local sampling: which keys it draws, on a node that holds some of the rows. */
#include "worker/sample_stream.h"

#include "common/stores.h"
#include "store/row.h"
#include "worker/chi_square.h"

#include <stdlib.h>

enum { KEYS = 200, DRAWS = 200000 };

struct fixture {
    struct store store; /* of one of two nodes: it holds about half of the rows */
    struct target target;
    struct local local;
    struct random random;
    double weights[KEYS];
};

/* `weights` of key k: 1 if uniform, else 1 + k. */
static struct fixture *open_half(bool is_uniform)
{
    const struct locus_table table = {.rows = KEYS, .length = 1};
    struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    CHECK(f != NULL);
    *f = (struct fixture){0};
    CHECK_EQ(store_init(&f->store, &table, 1, 1, 2, 0), 0);
    for (int k = 0; k < KEYS; k++) f->weights[k] = is_uniform ? 1 : 1 + k;
    if (is_uniform)
        target_init_uniform(&f->target, 0, KEYS);
    else
        CHECK_EQ(target_init_weighted(&f->target, 0, f->weights, KEYS), 0);
    random_init(&f->random, 11, 0, 0);
    return f;
}

static void end(struct fixture **at)
{
    struct fixture *f = *at;
    target_fini(&f->target);
    store_fini(&f->store);
    free(f);
}

static locus_key draw(struct fixture *f)
{
    locus_key key = 0;
    CHECK(local_draw(&f->local, &f->store, &f->target, &f->random, NULL, &key));
    return key;
}

/* The target's probabilities, of what is here alone. */
static void check_frequencies(struct fixture *f)
{
    uint64_t got[KEYS] = {0};
    double expected[KEYS], sum = 0;
    for (int i = 0; i < DRAWS; i++) got[draw(f)]++;
    for (locus_key k = 0; k < KEYS; k++) sum += local_has_row(&f->store, k) ? f->weights[k] : 0;
    for (locus_key k = 0; k < KEYS; k++)
        expected[k] = local_has_row(&f->store, k) ? DRAWS * f->weights[k] / sum : 0;
    CHECK_COUNTS(got, expected, KEYS);
}

TEST(local, draw_has_the_targets_distribution_among_rows_here)
{
    for (int is_uniform = 0; is_uniform < 2; is_uniform++) {
        struct fixture *f = open_half(is_uniform);
        uint64_t here = store_home_keys(&f->store);
        CHECK(here > KEYS / 4 && here < KEYS - KEYS / 4);
        check_frequencies(f);
        end(&f);
    }
}

static void leave(struct mover *m, const struct store *s, locus_key key)
{
    struct row_ref ref = store_row_ref(s, key);
    bool written;
    if (local_has_row(s, key) && !row_take_empty(ref, directory_elsewhere(1, 1)))
        CHECK_EQ(row_take(m, ref, NULL, &written, directory_elsewhere(1, 1)), 0);
}

/* Of the middle of a table, ROWS keys. Where there are several shards, a search is of one. */
static void find_the_only_row(unsigned shards)
{
    enum { FIRST = 70, ROWS = 3000, TABLE = 4000, TRIES = 200 };
    const struct locus_table table[] = {{.rows = 30, .length = 2}, {.rows = TABLE, .length = 1}};
    CLOSED_BY(end) struct fixture *f = open_half(true);
    CLOSED_BY(mover_fini) struct mover mover;
    int found = 0;
    store_fini(&f->store);
    CHECK_EQ(store_init(&f->store, table, 2, shards, 2, 0), 0);
    mover_init(&mover, &f->store);
    target_init_uniform(&f->target, FIRST, ROWS);
    locus_key last = 0, key = 0;
    for (locus_key k = FIRST; k < FIRST + ROWS; k++)
        if (local_has_row(&f->store, k)) last = k;
    for (locus_key k = FIRST; k < last; k++) leave(&mover, &f->store, k);
    for (int i = 0; i < TRIES; i++) {
        if (!local_draw(&f->local, &f->store, &f->target, &f->random, NULL, &key)) continue;
        CHECK_EQ(key, last);
        found++;
    }
    CHECK(shards == 1 ? found == TRIES : found > TRIES / 4 && found < TRIES / 2);
    leave(&mover, &f->store, last);
    for (int i = 0; i < TRIES; i++)
        CHECK(!local_draw(&f->local, &f->store, &f->target, &f->random, NULL, &key));
}

TEST(local, draw_finds_the_only_row_here)
{
    find_the_only_row(1);
    find_the_only_row(3);
}

TEST(local, draw_without_replacement_gives_each_row_here_once)
{
    CLOSED_BY(end) struct fixture *f = open_half(true);
    struct keyset drawn = {0};
    locus_key key;
    CHECK_EQ(keyset_begin(&drawn, KEYS), 0);
    for (uint64_t i = store_home_keys(&f->store); i > 0; i--) {
        CHECK(local_draw(&f->local, &f->store, &f->target, &f->random, &drawn, &key));
        CHECK(local_has_row(&f->store, key));
    }
    CHECK(!local_draw(&f->local, &f->store, &f->target, &f->random, &drawn, &key));
    keyset_fini(&drawn);
}

/* What was drawn ahead is looked at when it is handed out. */
TEST(local, draw_follows_rows_that_come_and_leave)
{
    CLOSED_BY(end) struct fixture *f = open_half(false);
    const float value = 1;
    CLOSED_BY(mover_fini) struct mover mover;
    mover_init(&mover, &f->store);
    for (int i = 0; i < 20; i++) draw(f);
    for (locus_key k = 0; k < KEYS; k++) {
        struct row_ref ref = store_row_ref(&f->store, k);
        bool comes = k % 3 == 0;
        if (!comes)
            leave(&mover, &f->store, k);
        else if (!local_has_row(&f->store, k))
            CHECK_EQ(row_put(ref, &value), 0);
        CHECK_EQ(local_has_row(&f->store, k), comes);
    }
    check_frequencies(f);
}
