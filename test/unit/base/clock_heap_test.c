#include "base/sets.h"

#include "test.h"

/* 7 and 1000 have no factor in common: each clock once, in an order that is none. */
TEST(clock_heap, drop_is_in_order_of_clocks)
{
    enum { CLOCKS = 1000 };
    CLOSED_BY(clock_heap_fini) struct clock_heap h = {0};
    static char things[CLOCKS];
    for (uint64_t i = 0; i < CLOCKS; i++)
        CHECK(clock_heap_add(&h, (locus_clock)(i * 7 % CLOCKS) - 500, &things[i * 7 % CLOCKS]));
    for (uint64_t i = 0; i < CLOCKS; i++) {
        CHECK_EQ(clock_heap_first(&h), (locus_clock)i - 500);
        CHECK(h.due[0].what == &things[i]);
        clock_heap_drop(&h);
    }
    CHECK_EQ(clock_heap_first(&h), INT64_MAX);
}
