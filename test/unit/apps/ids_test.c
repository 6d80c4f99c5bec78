#include "ids.h"
#include "rng.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct cell {
    float value;
    uint32_t id;
};

TEST(ids, few_large_ones_become_small)
{
    enum { COUNT = 3000 };
    static struct cell cells[COUNT];
    static uint32_t before[COUNT];
    struct rng rng;
    CLOSED_BY(names_fini) struct names names;
    uint32_t bound = UINT32_C(1) << 30;
    names_init(&names);
    rng_init(&rng, 1, 2);
    for (int i = 0; i < COUNT; i++) {
        bool is_near = rng_below(&rng, 2);
        uint64_t id = is_near ? rng_below(&rng, 700) : rng_below(&rng, bound);
        cells[i].id = before[i] = (uint32_t)id;
    }
    cells[COUNT - 1].id = before[COUNT - 1] = bound - 1;
    CHECK(ids_number(&cells->id, COUNT, sizeof *cells, &bound, 1, &names));
    CHECK_EQ(bound, names.count);
    for (int i = 0; i < COUNT; i++) {
        CHECK(cells[i].id < bound);
        CHECK_EQ(strtoul(names_get(&names, cells[i].id), NULL, 10), before[i] + UINT64_C(1));
        if (i > 0) CHECK_EQ(cells[i].id < cells[i - 1].id, before[i] < before[i - 1]);
    }
    CHECK_EQ(cells[COUNT - 1].id, bound - 1);
}

TEST(ids, many_stay_as_they_are)
{
    static uint32_t ids[20000];
    CLOSED_BY(names_fini) struct names names;
    uint32_t bound = 100000;
    names_init(&names);
    for (uint32_t i = 0; i < 20000; i++) ids[i] = 5 * i;
    CHECK(!ids_number(ids, 20000, sizeof *ids, &bound, 0, &names));
    CHECK(bound == 100000 && ids[7] == 35 && names.count == 0);
    bound = 65536;
    CHECK(!ids_number(ids, 3, sizeof *ids, &bound, 0, &names));
    CHECK(!ids_number(NULL, 0, sizeof *ids, &bound, 0, &names));
}
