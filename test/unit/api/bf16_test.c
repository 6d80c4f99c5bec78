/* Tables whose values have two bytes: what calls make of them, beside a table of floats. How values
 * round, bf16_test.c of the store checks. */
#include "store/row_type.h"
#include "worker/call.h"
#include "locus.h"
#include "one_node.h"

#include <math.h>
#include <string.h>

enum { ROWS = 12, LENGTH = 7, STORED_MAX = 3 * LENGTH + 1, ROUNDS = 40 };

/* Key k of the first table and ROWS + k of the second have the same calls. */
static void describe(struct locus_table tables[2], enum locus_optimizer o)
{
    for (int i = 0; i < 2; i++)
        tables[i] = (struct locus_table){.name = i ? "bf16" : "f32",
                                         .rows = ROWS,
                                         .length = LENGTH,
                                         .optimizer = o,
                                         .element = i ? LOCUS_BF16 : LOCUS_F32};
}

static void gradient_of_the_row(void *round, const float *values, float *gradient, uint32_t length)
{
    (void)values;
    for (uint32_t i = 0; i < length; i++) gradient[i] = (float)(*(unsigned *)round + i) / 8;
}

static void add_to_the_row(void *round, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] += (float)(*(unsigned *)round + i) / 8;
}

static void both(locus_worker *w, enum locus_optimizer o, unsigned round)
{
    float row[2][LENGTH];
    locus_ticket ticket = 0;
    locus_key key = round * 5 % ROWS;
    for (int i = 0; i < 2; i++) gradient_of_the_row(&round, NULL, row[i], LENGTH);
    const locus_key keys[2] = {key, ROWS + key};
    switch (round % 4) {
    case 0: CHECK_EQ(locus_push(w, keys, 2, row[0]), 0); break;
    case 1: CHECK_EQ(locus_push_async(w, keys, 2, row[0], &ticket), 0); break;
    case 2:
        for (int i = 0; i < 2; i++) CHECK_EQ(locus_push(w, &keys[i], 1, row[i]), 0);
        break;
    default:
        for (int i = 0; i < 2; i++) {
            int rc = o == LOCUS_NO_OPTIMIZER
                         ? locus_change_local(w, keys[i], add_to_the_row, &round)
                         : locus_step_local(w, keys[i], gradient_of_the_row, &round);
            if (rc == -EAGAIN) rc = locus_push(w, &keys[i], 1, row[i]);
            CHECK_EQ(rc, 0);
        }
    }
    CHECK_EQ(locus_wait(w, ticket), 0);
}

/* Each of `changes` has rounded by less than a hundredth of the value that it made. */
static void check_near(float is, float wanted, unsigned changes, float largest)
{
    if (!(fabsf(is - wanted) <= (float)changes * largest / 100))
        test_fail(__FILE__, __LINE__, "%g instead of %g after %u changes", (double)is,
                  (double)wanted, changes);
}

static bool is_equal(const float *a, const float *b, size_t n)
{
    bool equal = true;
    for (size_t i = 0; i < n; i++) equal &= a[i] == b[i];
    return equal;
}

/* State is of the gradients alone, and of floats in both. */
static void check_equal(locus_worker *w, unsigned changes)
{
    uint32_t stored = locus_state_length(w->node, 0);
    CHECK_EQ(locus_state_length(w->node, ROWS), stored);
    for (locus_key key = 0; key < ROWS; key++) {
        const locus_key keys[2] = {key, ROWS + key};
        float row[2 * STORED_MAX], values[2 * LENGTH], alone[LENGTH];
        CHECK_EQ(locus_pull_state(w, keys, 2, row), 0);
        CHECK_EQ(locus_pull(w, keys, 2, values), 0);
        CHECK_EQ(locus_pull(w, &keys[1], 1, alone), 0);
        CHECK(is_equal(alone, values + LENGTH, LENGTH));
        CHECK(is_equal(alone, row + stored, LENGTH));
        CHECK(is_equal(row + LENGTH, row + stored + LENGTH, stored - LENGTH));
        float largest = 0;
        for (int i = 0; i < LENGTH; i++) largest = fmaxf(largest, fabsf(values[i]));
        for (int i = 0; i < LENGTH; i++) check_near(alone[i], values[i], changes, largest);
    }
}

static void set_both(locus_worker *w, float value)
{
    uint32_t stored = locus_state_length(w->node, 0);
    float rows[2 * STORED_MAX];
    for (uint32_t i = 0; i < 2 * stored; i++) rows[i] = value + (float)(i % stored);
    for (locus_key key = 0; key < ROWS; key++) {
        const locus_key keys[2] = {key, ROWS + key};
        if (key % 2)
            CHECK_EQ(locus_set_state(w, keys, 2, rows), 0);
        else
            for (int i = 0; i < 2; i++) CHECK_EQ(locus_set(w, &keys[i], 1, rows), 0);
    }
}

static void check_optimizer(enum locus_optimizer o)
{
    struct locus_table tables[2];
    describe(tables, o);
    locus *n = node_of(tables, 2, 1, 2);
    locus_worker *w = worker_of(n);
    for (unsigned round = 0; round < ROUNDS; round++) both(w, o, round);
    check_equal(w, ROUNDS);
    set_both(w, 3);
    check_equal(w, 0); /* integers */
    for (unsigned round = 0; round < ROUNDS; round++) both(w, o, round);
    check_equal(w, ROUNDS);
    close_both(n, w);
}

TEST(bf16_tables, calls_do_as_with_f32_but_for_rounding)
{
    for (enum locus_optimizer o = LOCUS_NO_OPTIMIZER; o < row_types; o++) check_optimizer(o);
}

TEST(bf16_tables, have_no_view_and_half_the_memory)
{
    struct locus_table table = {.rows = 1000, .length = 64, .element = LOCUS_BF16};
    uint64_t bytes[2], replicas;
    for (int i = 0; i < 2; i++) {
        table.element = i ? LOCUS_BF16 : LOCUS_F32;
        locus *n = node_of(&table, 1, 1, 1);
        locus_worker *w = worker_of(n);
        float row[64] = {1};
        for (locus_key key = 0; key < 1000; key++) CHECK_EQ(locus_push(w, &key, 1, row), 0);
        store_row_bytes(w->store, &bytes[i], &replicas);
        locus_read_begin(w);
        CHECK((locus_view(w, 3) == NULL) == (i == 1));
        if (i) CHECK_STR(locus_error(), "the table of key 3 has element LOCUS_BF16");
        locus_read_end(w);
        /* What is usual there is no error, and needs no sentence. */
        const locus_key key = 5;
        const float *in_place;
        int is_in_place = locus_read_rows(w, &key, 1, NULL, &in_place);
        if (i) CHECK(is_in_place == 0 && !strstr(locus_error(), "key 5"));
        if (is_in_place) locus_read_end(w);
        close_both(n, w);
    }
    CHECK_EQ(bytes[0], 2 * bytes[1]);
}
