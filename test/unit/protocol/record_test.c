#include "protocol/record.h"
#include "test.h"

enum { KEYS = 100000 };

static uint64_t index_of(uint64_t i)
{
    return i * 7919 % KEYS; /* a prime: each once */
}

/* Records keep their place while others come, however many. */
TEST(record, get_leaves_ten_thousand_records_where_they_are)
{
    enum { COUNT = 10000 };
    CLOSED_BY(records_fini) struct records all;
    CLOSED_BY(free_at) struct record **place = calloc(COUNT, sizeof(struct record *));
    CHECK(place != NULL);
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(record_find(&all, index_of(i)) == NULL);
        place[i] = record_get(&all, index_of(i));
        CHECK(record_get(&all, index_of(i)) == place[i]);
    }
    CHECK_EQ(all.used - all.free_count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(record_find(&all, index_of(i)) == place[i]);
        CHECK_EQ(place[i]->index, index_of(i));
    }
    for (uint64_t i = COUNT; i < KEYS; i++) CHECK(record_find(&all, index_of(i)) == NULL);
}

/* So many at a time need no more than that, whatever keys come and go. */
TEST(record, get_uses_released_records_again_without_what_they_remembered)
{
    enum { AT_A_TIME = 300, ROUNDS = 200 };
    CLOSED_BY(records_fini) struct records all;
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < AT_A_TIME; i++) {
            struct record *r = record_get(&all, index_of(round * AT_A_TIME + i));
            CHECK(record_is_empty(r) && !r->is_stalled && !r->stalled_next);
            r->asked = r->localizing = 1;
            r->waiting_first = r->waiting_last = 7;
            r->is_stalled = true;
            r->stalled_next = r->number;
        }
        CHECK_EQ(all.used - all.free_count, AT_A_TIME);
        for (uint64_t i = 0; i < AT_A_TIME; i++) /* in another order than they came */
            record_release(&all,
                           record_find(&all, index_of(round * AT_A_TIME + i * 7 % AT_A_TIME)));
        CHECK_EQ(all.used - all.free_count, 0);
    }
    CHECK(all.used <= AT_A_TIME);
    CHECK_EQ(all.chunks, (AT_A_TIME + RECORDS_A_CHUNK - 1) / RECORDS_A_CHUNK);
}

/* At the end of a node whose cluster is lost requests may be parked; a leak checker looks on. */
TEST(record, fini_frees_parked_requests)
{
    CLOSED_BY(records_fini) struct records all;
    CHECK_EQ(records_init(&all, KEYS), 0);
    for (uint64_t i = 0; i < 300; i++) {
        struct record *r = record_get(&all, index_of(i % 100));
        struct parked *p = calloc(1, sizeof *p);
        CHECK(p != NULL);
        p->next = r->parked;
        r->parked = p;
    }
}
