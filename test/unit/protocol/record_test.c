#include "protocol/record.h"
#include "test.h"

#include <stdlib.h>

enum { KEYS = 100000 };

TEST(record, is_found_under_its_key_alone)
{
    CLOSED_BY(records_fini) struct records all;
    CHECK_EQ(records_init(&all, KEYS), 0);
    CHECK(record_find(&all, 0) == NULL && record_find(&all, KEYS - 1) == NULL);
    struct record *first = record_get(&all, 0), *last = record_get(&all, KEYS - 1);
    CHECK(first != last);
    CHECK(record_get(&all, 0) == first && record_find(&all, 0) == first);
    CHECK(record_find(&all, KEYS - 1) == last);
    CHECK(record_find(&all, 1) == NULL);
    CHECK_EQ(first->index, 0);
    CHECK_EQ(last->index, KEYS - 1);
    CHECK_EQ(all.used - all.free_count, 2);
    record_release(&all, first);
    CHECK(record_find(&all, 0) == NULL);
    CHECK_EQ(all.used - all.free_count, 1);
    record_release(&all, last);
    CHECK_EQ(all.used - all.free_count, 0);
}

static uint64_t index_of(uint64_t i)
{
    return i * 7919 % KEYS; /* a prime: each once */
}

/* Records keep their place while others come, however many. */
TEST(record, of_ten_thousand_keys_stay_where_they_are)
{
    enum { COUNT = 10000 };
    CLOSED_BY(records_fini) struct records all;
    CLOSED_BY(free_at) struct record **place = calloc(COUNT, sizeof(struct record *));
    CHECK(place != NULL);
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        place[i] = record_get(&all, index_of(i));
        place[i]->asked = (uint32_t)i;
    }
    CHECK_EQ(all.used - all.free_count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(record_find(&all, index_of(i)) == place[i]);
        CHECK_EQ(place[i]->asked, i);
    }
    for (uint64_t i = COUNT; i < KEYS; i++) CHECK(record_find(&all, index_of(i)) == NULL);
}

/* So many at a time need no more than that, whatever keys come and go. */
TEST(record, that_was_given_back_is_used_again_and_remembers_nothing)
{
    enum { AT_A_TIME = 300, ROUNDS = 200 };
    CLOSED_BY(records_fini) struct records all;
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < AT_A_TIME; i++) {
            struct record *r = record_get(&all, index_of(round * AT_A_TIME + i));
            CHECK(r->asked == 0 && r->localizing == 0 && !r->is_stalled && !r->stalled_next &&
                  !r->parked);
            CHECK(r->waiting_first == REQUEST_NOWHERE && r->waiting_last == REQUEST_NOWHERE);
            r->asked = r->localizing = 1;
            r->waiting_first = r->waiting_last = 7;
            r->is_stalled = true;
            r->stalled_next = r->number;
        }
        CHECK_EQ(all.used - all.free_count, AT_A_TIME);
        /* In another order than they came. */
        for (uint64_t i = 0; i < AT_A_TIME; i++)
            record_release(&all,
                           record_find(&all, index_of(round * AT_A_TIME + i * 7 % AT_A_TIME)));
        CHECK_EQ(all.used - all.free_count, 0);
    }
    CHECK(all.used <= AT_A_TIME);
    CHECK_EQ(all.chunks, (AT_A_TIME + RECORDS_A_CHUNK - 1) / RECORDS_A_CHUNK);
}

/* At the end of a node whose cluster is lost, requests may still be parked; a leak checker looks
 * on. */
TEST(record, with_parked_requests_gives_their_memory_back_at_the_end)
{
    CLOSED_BY(records_fini) struct records all;
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t i = 0; i < 100; i++) {
        struct record *r = record_get(&all, index_of(i));
        for (int n = 0; n < 3; n++) {
            struct parked *p = calloc(1, sizeof *p);
            CHECK(p != NULL);
            p->next = r->parked;
            r->parked = p;
        }
    }
}
