/* request: tags name worker, request, item and generation; places name all but the generation. */
#include "protocol/request.h"
#include "test.h"

enum { EDGES = 4, PLACES = EDGES * EDGES * EDGES, TAGS = PLACES * EDGES };
static const uint32_t workers[EDGES] = {0, 1, 511, LOCUS_WORKERS_MAX - 1},
                      numbers[EDGES] = {0, 1, 128, REQUEST_NUMBERS_MAX - 1},
                      items[EDGES] = {0, 1, 512, REQUEST_ITEMS_MAX - 1},
                      generations[EDGES] = {0, 1, 8, REQUEST_GENERATIONS - 1};

static void check_parts(uint32_t tag, const struct request *r, uint32_t item)
{
    CHECK_EQ(request_tag_worker(tag), r->worker);
    CHECK_EQ(request_tag_number(tag), r->number);
    CHECK_EQ(request_tag_item(tag), item);
}

/* All combinations of edges. No two tags are equal: so a late answer is told from the awaited one. */
TEST(request, tags_and_places_give_back_what_they_were_made_of)
{
    uint32_t tag[TAGS], place[TAGS];
    for (unsigned i = 0; i < TAGS; i++) {
        uint32_t item = items[i / EDGES / EDGES % EDGES];
        const struct request r = {.worker = (uint16_t)workers[i % EDGES],
                                  .number = (uint16_t)numbers[i / EDGES % EDGES],
                                  .generation = (uint8_t)generations[i / PLACES]};
        tag[i] = request_tag(&r, item);
        place[i] = request_place_of(&r, item);
        check_parts(tag[i], &r, item);
        check_parts(place[i], &r, item);
        CHECK_EQ(place[i], place[i % PLACES]); /* the same in every generation */
        CHECK(place[i] != REQUEST_NOWHERE);
        for (unsigned k = 0; k < i; k++) CHECK(tag[i] != tag[k]);
    }
}
