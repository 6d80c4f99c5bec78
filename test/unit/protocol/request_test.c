/* request: tags name worker, request, item and generation; places name all but the generation. */
#include "protocol/request.h"
#include "test.h"

enum { EDGES = 4 };
static const uint32_t workers[EDGES] = {0, 1, 511, LOCUS_WORKERS_MAX - 1},
                      numbers[EDGES] = {0, 1, 128, REQUEST_NUMBERS_MAX - 1},
                      items[EDGES] = {0, 1, 512, REQUEST_ITEMS_MAX - 1},
                      generations[EDGES] = {0, 1, 8, REQUEST_GENERATIONS - 1};

/* The i-th of all combinations of edges, and its item. */
static struct request at(unsigned i, uint32_t *item)
{
    *item = items[i / EDGES / EDGES % EDGES];
    return (struct request){.worker = (uint16_t)workers[i % EDGES],
                            .number = (uint16_t)numbers[i / EDGES % EDGES],
                            .generation = (uint8_t)generations[i / EDGES / EDGES / EDGES]};
}

enum { PLACES = EDGES * EDGES * EDGES, TAGS = PLACES * EDGES };

TEST(request, a_tag_gives_back_what_it_was_made_of)
{
    for (unsigned i = 0; i < TAGS; i++) {
        uint32_t item;
        struct request r = at(i, &item);
        uint32_t tag = request_tag(&r, item);
        CHECK_EQ(request_tag_worker(tag), r.worker);
        CHECK_EQ(request_tag_number(tag), r.number);
        CHECK_EQ(request_tag_item(tag), item);
    }
}

/* So a late answer is told from the awaited one, and no item is taken for another. */
TEST(request, no_two_tags_are_equal)
{
    for (unsigned i = 0; i < TAGS; i++)
        for (unsigned k = 0; k < i; k++) {
            uint32_t a, b;
            struct request r = at(i, &a), s = at(k, &b);
            CHECK(request_tag(&r, a) != request_tag(&s, b));
        }
}

TEST(request, a_place_is_the_same_in_every_generation)
{
    for (unsigned i = 0; i < TAGS; i++) {
        uint32_t item, first_item;
        struct request r = at(i, &item), first = at(i % PLACES, &first_item);
        CHECK_EQ(request_place_of(&r, item), request_place_of(&first, first_item));
        CHECK(request_place_of(&r, item) != REQUEST_NOWHERE);
        /* what takes a tag apart takes a place apart, too */
        CHECK_EQ(request_tag_worker(request_place_of(&r, item)), r.worker);
        CHECK_EQ(request_tag_number(request_place_of(&r, item)), r.number);
        CHECK_EQ(request_tag_item(request_place_of(&r, item)), item);
    }
}
