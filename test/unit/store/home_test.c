#include "store/home.h"

#include "test.h"

#include <stdlib.h>

enum { KEYS = 3 * HOME_BUCKETS + 77 };

/* Every key has one home; there it has a slot of its own among those that have, at other nodes two
 * among those that have not. */
static void check_part(unsigned nodes, unsigned part)
{
    static struct home h;
    unsigned homes[KEYS] = {0};
    for (unsigned rank = 0; rank < nodes; rank++) {
        home_init(&h, nodes, rank);
        unsigned first = home_first_bucket(&h, part);
        uint64_t below[2] = {home_slots(&h, first + KEYS, 0), home_slots(&h, first + KEYS, 1)},
                 own = 0;
        unsigned char *used[2] = {calloc(1, below[0] + 1), calloc(1, below[1] + 1)};
        CHECK(used[0] != NULL && used[1] != NULL);
        CHECK(first < HOME_BUCKETS);
        CHECK(below[0] + below[1] / 2 <= KEYS + 2 * HOME_BUCKETS);
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t elsewhere = 2, slot = home_slot(&h, first + k, &elsewhere);
            CHECK(home_node(&h, first + k) < nodes);
            CHECK_EQ(elsewhere, home_node(&h, first + k) != rank);
            CHECK(slot + elsewhere < below[elsewhere]);
            CHECK(nodes > 1 || (first == 0 && slot == k));
            CHECK_EQ(used[elsewhere][slot], 0);
            CHECK_EQ(used[elsewhere][slot + elsewhere], 0);
            used[elsewhere][slot] = used[elsewhere][slot + elsewhere] = 1;
            homes[k] += !elsewhere;
            own += !elsewhere;
        }
        /* Within one round of the buckets of a fair share. */
        CHECK(own * nodes <= KEYS + (uint64_t)nodes * nodes);
        free(used[0]);
        free(used[1]);
    }
    for (unsigned k = 0; k < KEYS; k++) CHECK_EQ(homes[k], 1);
}

TEST(home, each_key_has_one_home_and_a_slot_on_each_node)
{
    const unsigned nodes[] = {1, 2, 3, 5, 8, 64};
    for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (unsigned part = 0; part < 4; part++) check_part(nodes[i], part);
}

TEST(home, small_parts_do_not_all_begin_at_the_same_node)
{
    static struct home h;
    unsigned count[8] = {0};
    home_init(&h, 8, 0);
    for (unsigned part = 0; part < 800; part++) count[home_node(&h, home_first_bucket(&h, part))]++;
    for (unsigned n = 0; n < 8; n++) CHECK(count[n] > 0);
}
