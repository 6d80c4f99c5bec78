#include "store/home.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 3 * HOME_BUCKETS + 77 };

/* Every key has one home, and at its home a slot of its own below home_slots(). */
static void check_part(unsigned nodes, unsigned part)
{
    static struct home h;
    unsigned homes[KEYS] = {0};
    for (unsigned rank = 0; rank < nodes; rank++) {
        home_init(&h, nodes, rank);
        unsigned first = home_first_bucket(&h, part);
        uint64_t slots = home_slots(&h, first + KEYS), own = 0;
        unsigned char *used = calloc(1, slots + 1);
        CHECK(used != NULL);
        CHECK(first < HOME_BUCKETS);
        for (unsigned k = 0; k < KEYS; k++) {
            CHECK(home_node(&h, first + k) < nodes);
            if (home_node(&h, first + k) != rank) continue;
            uint64_t slot = home_slot(&h, first + k);
            CHECK(slot < slots);
            CHECK_EQ(used[slot], 0);
            used[slot] = 1;
            homes[k]++;
            own++;
        }
        /* Within one round of the buckets of a fair share. */
        CHECK(own * nodes <= KEYS + (uint64_t)nodes * nodes);
        free(used);
    }
    for (unsigned k = 0; k < KEYS; k++) CHECK_EQ(homes[k], 1);
}

TEST(home, each_key_has_one_home_and_a_slot_of_its_own_there)
{
    const unsigned nodes[] = {1, 2, 3, 5, 8, 64};
    for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (unsigned part = 0; part < 4; part++) check_part(nodes[i], part);
}

TEST(home, every_node_knows_the_same_homes)
{
    static struct home a, b;
    home_init(&a, 7, 0);
    home_init(&b, 7, 6);
    CHECK_EQ(memcmp(a.node, b.node, sizeof a.node), 0);
    CHECK_EQ(a.view, b.view);
    for (unsigned part = 0; part < 100; part++) CHECK_EQ(home_first_bucket(&a, part), home_first_bucket(&b, part));
}

TEST(home, small_parts_do_not_all_begin_at_the_same_node)
{
    static struct home h;
    unsigned count[8] = {0};
    home_init(&h, 8, 0);
    for (unsigned part = 0; part < 800; part++) count[home_node(&h, home_first_bucket(&h, part))]++;
    for (unsigned n = 0; n < 8; n++) CHECK(count[n] > 0);
}

TEST(home, a_node_alone_is_the_home_of_all_and_the_slot_is_the_number)
{
    static struct home h;
    home_init(&h, 1, 0);
    for (uint64_t k = 0; k < KEYS; k++) {
        CHECK_EQ(home_node(&h, k), 0);
        CHECK_EQ(home_slot(&h, k), k);
    }
    CHECK_EQ(home_first_bucket(&h, 12345), 0);
    CHECK_EQ(home_slots(&h, 0), 0);
}
