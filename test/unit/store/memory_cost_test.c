/*
 * memory_cost_test.c - what a node's rows cost in memory that is really used.
 *
 * Resident memory is compared with what the headers promise: nothing for a key that was never
 * touched; for a row that lies alone a page of each array that knows it; where rows are dense 8
 * bytes for a key that is not held, and up to 24 for one that is; the values of the rows that are
 * held. That rows which left give theirs back is in slab_test.c.
 */
#include "base/process.h"
#include "common/stores.h"
#include "one_node.h"

#include <unistd.h>

#define MILLION UINT64_C(1000000)
#define MEBIBYTE (INT64_C(1) << 20)

enum {
    LENGTH = 16,
    ROW_BYTES = LENGTH * 4,
    CALL = 1000,
    PAGE = 4096,
    /* Pages of the process itself, of tables of pages, of the heap. */
    NOISE_BYTES = 16 << 20,
};

static int64_t resident(void)
{
    return (int64_t)footprint_resident_bytes();
}

static void skip_where_it_cannot_be_measured(void)
{
#if defined(LOCUS_ASAN) || defined(LOCUS_TSAN)
    SKIP("a sanitizer's shadow is resident memory too");
#endif
    if (sysconf(_SC_AVPHYS_PAGES) < (3072 * MEBIBYTE) / sysconf(_SC_PAGESIZE))
        SKIP("3 GiB of memory are not free here");
}

static uint64_t throw_dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* `count` rows of random keys, CALL a call. */
static void touch_random_rows(locus_worker *w, uint64_t keys, uint64_t count, uint64_t seed)
{
    static locus_key key[CALL];
    static float rows[CALL * LENGTH];
    for (uint64_t done = 0; done < count; done += CALL) {
        for (int i = 0; i < CALL; i++) key[i] = throw_dice(&seed) % keys;
        CHECK_EQ(locus_push(w, key, CALL, rows), 0);
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Many keys of which few are held. */
static void few_of_many(uint64_t keys, uint64_t held)
{
    int64_t before = resident();
    locus *n = one_node(keys, LENGTH, 1);
    locus_worker *w = worker_of(n);
    CHECK(resident() - before < NOISE_BYTES); /* opened, it costs nothing */
    touch_random_rows(w, keys, held, 1);
    int64_t values = 2 * (int64_t)held * ROW_BYTES, pages = (int64_t)held * PAGE;
    int64_t cost = least((int64_t)(keys * 17 / 2), pages) + least(SLAB_SLACK_BYTES, pages) + values;
    CHECK(resident() - before <= cost + NOISE_BYTES);
    close_both(n, w);
    CHECK(resident() - before < NOISE_BYTES);
}

TEST(memory_cost, many_keys_of_which_few_are_held)
{
    skip_where_it_cannot_be_measured();
    few_of_many(100 * MILLION, 1000);
    few_of_many(100 * MILLION, 100000);
    few_of_many(10 * MILLION, 1000);
}

TEST(memory_cost, a_held_row_costs_at_most_24_bytes_beside_its_values)
{
    skip_where_it_cannot_be_measured();
    for (int in_order = 0; in_order < 2; in_order++) {
        const uint64_t rows = MILLION;
        static locus_key key[CALL];
        static float values[CALL * LENGTH];
        int64_t before = resident();
        locus *n = one_node(rows, LENGTH, 1);
        locus_worker *w = worker_of(n);
        for (uint64_t done = 0; done < rows; done += CALL) {
            for (uint64_t i = 0; i < CALL; i++)
                key[i] = in_order ? done + i : (done + i) * 386117 % rows;
            CHECK_EQ(locus_push(w, key, CALL, values), 0);
        }
        CHECK(resident() - before <= (int64_t)rows * (ROW_BYTES + 24));
        CHECK(resident() - before >= (int64_t)rows * ROW_BYTES); /* or this measures nothing */
        close_both(n, w);
    }
}
