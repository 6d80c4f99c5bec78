/* A sample's ring of keys. Handles, and how many there may be: api/sampling_test. */
#include "worker/sample.h"

#include "locus.h"
#include "test.h"

static struct samples samples_of(unsigned worker)
{
    struct samples all;
    CHECK_EQ(samples_init(&all, worker), 0);
    return all;
}

TEST(sample, find_knows_the_handles_of_its_worker_alone)
{
    CLOSED_BY(samples_fini) struct samples all = samples_of(0), others = samples_of(1);
    struct sample *one, *other;
    locus_sample handle, others_handle;
    CHECK_EQ(samples_open(&all, &one, &handle), 0);
    CHECK_EQ(samples_open(&others, &other, &others_handle), 0);
    CHECK(samples_find(&all, handle) == one && samples_find(&others, others_handle) == other);
    CHECK(samples_find(&others, handle) == NULL);
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

TEST(sample, take_gives_keys_in_their_order_wherever_the_ring_begins)
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

TEST(sample, finish_gives_the_memory_of_a_large_sample_back)
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
