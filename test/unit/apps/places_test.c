/* Keys that come again, against a search from the front. */
#include "places.h"
#include "rng.h"
#include "test.h"

enum { KEYS = 500, LISTS = 50 };

static uint32_t search(const locus_key *list, uint32_t count, locus_key key)
{
    uint32_t place = 0;
    while (place < count && list[place] != key) place++;
    return place;
}

TEST(places, are_those_of_the_first_of_equal_keys_in_every_list)
{
    CLOSED_BY(places_fini) struct places p;
    struct rng rng;
    locus_key list[KEYS] = {0};
    rng_init(&rng, 7, 0);
    places_init(&p, KEYS);
    for (uint64_t range = 1; range <= LISTS; range++) {
        uint32_t count = 0;
        places_clear(&p);
        for (int i = 0; i < KEYS; i++) {
            locus_key key = rng_below(&rng, range * range);
            uint32_t place = places_find(&p, list, count, key);
            CHECK_EQ(place, search(list, count, key));
            if (place == count) list[count++] = key;
        }
    }
}

TEST(places, has_room_for_as_many_different_keys_as_it_was_made_for)
{
    CLOSED_BY(places_fini) struct places p;
    locus_key list[KEYS] = {0};
    places_init(&p, KEYS);
    places_clear(&p);
    for (uint32_t i = 0; i < KEYS; i++) {
        list[i] = (locus_key)i << 40;
        CHECK_EQ(places_find(&p, list, i, list[i]), i);
    }
    for (uint32_t i = 0; i < KEYS; i++) CHECK_EQ(places_find(&p, list, KEYS, list[i]), i);
}
