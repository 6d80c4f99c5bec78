#include "sampling/sample.h"

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <stdlib.h>

static struct samples samples_of(unsigned worker)
{
    struct samples all;
    CHECK_EQ(samples_init(&all, worker), 0);
    return all;
}

TEST(sample, a_handle_is_its_samples_until_it_is_finished)
{
    struct samples all = samples_of(0), others = samples_of(1);
    struct sample *one, *other;
    locus_sample first, second;
    CHECK_EQ(samples_open(&all, &one, &first), 0);
    CHECK_EQ(samples_open(&all, &other, &second), 0);
    CHECK(first != second && one != other);
    CHECK(samples_find(&all, first) == one && samples_find(&all, second) == other);
    CHECK(samples_find(&others, first) == NULL); /* another worker's */
    CHECK(samples_find(&all, 0) == NULL && samples_find(&all, UINT64_MAX) == NULL);
    samples_finish(&all, one);
    CHECK(samples_find(&all, first) == NULL);
    CHECK_EQ(samples_open(&all, &one, &second), 0); /* the place is used again */
    CHECK(samples_find(&all, first) == NULL && samples_find(&all, second) == one);
    samples_close(&all);
    CHECK(samples_find(&all, second) == NULL);
    samples_fini(&all);
    samples_fini(&others);
}

TEST(sample, so_many_and_no_more_are_open)
{
    static struct sample *open[LOCUS_SAMPLES_MAX];
    CLOSED_BY(samples_fini) struct samples all = samples_of(0);
    struct sample *more;
    locus_sample handle;
    for (unsigned i = 0; i < LOCUS_SAMPLES_MAX; i++)
        CHECK_EQ(samples_open(&all, &open[i], &handle), 0);
    CHECK_EQ(samples_open(&all, &more, &handle), -ENOBUFS);
    samples_finish(&all, open[LOCUS_SAMPLES_MAX / 2]);
    CHECK_EQ(samples_open(&all, &more, &handle), 0);
    CHECK_EQ(samples_open(&all, &more, &handle), -ENOBUFS);
}

/* Keys 100, 101 ... wait in the ring from place `head` on. */
static void put(struct sample *s, size_t size, size_t head)
{
    CHECK_EQ(sample_reserve(s, size, false), 0);
    s->size = s->waiting = size;
    s->head = head;
    s->undecided = s->fresh = 0;
    for (size_t i = 0; i < size; i++) s->key[sample_place(s, i)] = 100 + i;
}

TEST(sample, keys_are_taken_in_their_order_wherever_the_ring_begins)
{
    enum { SIZE = 7 };
    CLOSED_BY(samples_fini) struct samples all = samples_of(0);
    struct sample *s;
    locus_sample handle;
    CHECK_EQ(samples_open(&all, &s, &handle), 0);
    for (size_t head = 0; head < SIZE; head++)
        for (size_t n = 0; n <= SIZE; n++) {
            locus_key keys[SIZE];
            put(s, SIZE, head);
            sample_take_all(s, keys, n);
            for (size_t i = 0; i < n; i++) CHECK_EQ(keys[i], 100 + i);
            CHECK_EQ(sample_left(s), SIZE - n);
            for (size_t i = n; i < SIZE; i++) {
                CHECK_EQ(sample_first(s), 100 + i);
                CHECK_EQ(sample_take(s), 100 + i);
            }
            CHECK_EQ(sample_left(s), 0);
        }
}

TEST(sample, large_ones_give_their_memory_back)
{
    CLOSED_BY(samples_fini) struct samples all = samples_of(0);
    struct sample *s, *again;
    locus_sample handle;
    CHECK_EQ(samples_open(&all, &s, &handle), 0);
    CHECK_EQ(sample_reserve(s, 100 * SAMPLE_KEPT_KEYS, true), 0);
    CHECK(s->capacity >= 100 * SAMPLE_KEPT_KEYS);
    samples_finish(&all, s);
    CHECK_EQ(samples_open(&all, &again, &handle), 0);
    CHECK(again == s && again->capacity <= SAMPLE_KEPT_KEYS);
    CHECK_EQ(sample_reserve(s, SAMPLE_KEPT_KEYS, false), 0);
    samples_finish(&all, s);
    CHECK_EQ(samples_open(&all, &again, &handle), 0);
    CHECK(again == s && again->capacity == SAMPLE_KEPT_KEYS); /* kept for the next one */
}
