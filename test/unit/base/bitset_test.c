#include "base/sets.h"

#include "test.h"

#include <stdlib.h>

static uint64_t throw_dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

TEST(bitset, lowest_finds_the_last_member)
{
    const uint64_t bounds[] = {1, 2, 64, 65, 4096, 4097, 262144, 262145, UINT64_C(1) << 33};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct bitset b;
        CHECK(bitset_init(&b, bounds[i]));
        bitset_add(&b, bounds[i] - 1);
        CHECK(bitset_has(&b, bounds[i] - 1));
        CHECK_EQ(bitset_lowest(&b), bounds[i] - 1);
        bitset_remove(&b, bounds[i] - 1);
        CHECK(bitset_lowest(&b) == BITSET_NONE);
        bitset_fini(&b);
    }
}

/* Against a plain array, with members crowded and sparse. */
static void same_as_an_array(uint64_t bound, unsigned add_of_8)
{
    CLOSED_BY(bitset_fini) struct bitset b;
    CLOSED_BY(free_at) unsigned char *is_in = calloc(1, bound);
    uint64_t dice = bound * 8 + add_of_8;
    CHECK(is_in != NULL);
    CHECK(bitset_init(&b, bound));
    for (int step = 0; step < 3000; step++) {
        uint64_t m = throw_dice(&dice) % bound;
        if (throw_dice(&dice) % 8 < add_of_8) {
            bitset_add(&b, m);
            is_in[m] = 1;
        } else {
            bitset_remove(&b, m);
            is_in[m] = 0;
        }
        uint64_t lowest = 0;
        while (lowest < bound && !is_in[lowest]) lowest++;
        CHECK_EQ(bitset_lowest(&b), lowest < bound ? lowest : BITSET_NONE);
        CHECK_EQ(bitset_has(&b, m), is_in[m]);
    }
}

TEST(bitset, add_and_remove_agree_with_a_plain_array)
{
    const uint64_t bounds[] = {1, 3, 64, 70, 4096, 5000};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        for (unsigned add = 1; add < 8; add += 3) same_as_an_array(bounds[i], add);
}
