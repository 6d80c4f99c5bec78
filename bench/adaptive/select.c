/* Which cells there are, at what sizes, and what they are called. */
#include "bench.h"

#include <inttypes.h>

#define CELL(w, n, t, now, o, us, quick) \
    { \
        .workload = (w), .nodes = (n), .technique = (t), .immediate = (now), .offset = (o), \
        .period_us = (us), .in_quick = (quick) \
    }
#define TECHNIQUES(w, n, quick) \
    CELL(w, n, LOCUS_ADAPTIVE, false, 100, 1000, true), \
        CELL(w, n, LOCUS_ADAPTIVE, true, 100, 1000, false), \
        CELL(w, n, LOCUS_REPLICATE, false, 100, 1000, quick), \
        CELL(w, n, LOCUS_RELOCATE, false, 100, 1000, quick), \
        CELL(w, n, LOCUS_FULL_REPLICATION, false, 100, 1000, quick), \
        CELL(w, n, LOCUS_STATIC, false, 100, 1000, quick)
#define OFFSET(o, quick) \
    CELL(SKEWED, 2, LOCUS_ADAPTIVE, false, o, 0, quick), \
        CELL(SKEWED, 2, LOCUS_ADAPTIVE, true, o, 0, false)
#define OFFSET_PACED(o) CELL(SKEWED, 2, LOCUS_ADAPTIVE, false, o, 1000, false)
#define REPLICATED(w, r, l, quick) \
    { \
        .workload = (w), .nodes = 2, .technique = LOCUS_ADAPTIVE, .rows = (r), .length = (l), \
        .in_quick = (quick) \
    }
#define ARRIVES(r, us) \
    { \
        .workload = ARRIVAL, .nodes = 2, .technique = LOCUS_ADAPTIVE, .rows = (r), \
        .period_us = (us), .in_quick = true \
    }

static const struct cell all[] = {
    TECHNIQUES(SKEWED, 2, true),
    TECHNIQUES(SKEWED, 4, false),
    TECHNIQUES(OWN, 2, true),
    TECHNIQUES(OWN, 4, false),
    CELL(SKEWED, 3, LOCUS_ADAPTIVE, false, 100, 1000, false),
    {.workload = TURNS, .nodes = 3, .technique = LOCUS_ADAPTIVE, .in_quick = true},
    OFFSET(1, true),
    OFFSET(3, false),
    OFFSET(10, false),
    OFFSET(30, false),
    OFFSET(100, false),
    OFFSET(300, false),
    OFFSET(1000, true),
    OFFSET_PACED(1),
    OFFSET_PACED(3),
    OFFSET_PACED(10),
    OFFSET_PACED(30),
    OFFSET_PACED(300),
    OFFSET_PACED(1000),
    REPLICATED(IDLE, 10000, 128, true),
    REPLICATED(IDLE, 1000000, 16, false),
    REPLICATED(PUSHED, 10000, 128, false),
    REPLICATED(PUSHED, 100000, 128, true),
    REPLICATED(COSTS, 100000, 16, false),  /* in the cache; */
    REPLICATED(COSTS, 1000000, 16, false), /* and as many as the local path has */
    /* the array is in the cache for the most part, replicas are not; */
    REPLICATED(COSTS, 100000, 128, true),
    REPLICATED(COSTS, 1000000, 128, false),
    ARRIVES(1, 0),
    ARRIVES(1, 1000),
    ARRIVES(1000, 0),
    ARRIVES(1000, 1000),
};

const struct cell *cell_at(unsigned number)
{
    return number < cells.count ? &all[number] : NULL;
}

static const char *technique_name(const struct cell *c)
{
    static const char *const names[] = {
        [LOCUS_ADAPTIVE] = "adaptive",
        [LOCUS_STATIC] = "static",
        [LOCUS_RELOCATE] = "relocate",
        [LOCUS_REPLICATE] = "replicate",
        [LOCUS_FULL_REPLICATION] = "full-replication",
    };
    return c->immediate ? "immediate" : names[c->technique];
}

static void name_cell(unsigned number, char name[CELL_NAME])
{
    const struct cell *c = &all[number];
    const size_t capacity = CELL_NAME;
    static const char *const names[WORKLOADS] = {"skewed", "own",   "turns",  "idle",
                                                 "pushed", "costs", "arrival"};
    const char *pace = c->period_us ? "pace=1ms" : "pace=free";
    if (c->workload <= OWN)
        snprintf(name, capacity, "%s nodes=%u %s offset=%u %s", names[c->workload], c->nodes,
                 technique_name(c), c->offset, pace);
    else if (c->workload == TURNS)
        snprintf(name, capacity, "turns nodes=%u %s", c->nodes, technique_name(c));
    else if (c->workload == ARRIVAL)
        snprintf(name, capacity, "arrival keys=%" PRIu64 " %s", c->rows,
                 c->period_us ? "idle" : "busy");
    else
        snprintf(name, capacity, "%s keys=%" PRIu64 " length=%" PRIu32, names[c->workload], c->rows,
                 c->length);
}

static bool is_in_quick(unsigned number)
{
    return all[number].in_quick;
}

const struct cells cells = {sizeof all / sizeof *all, name_cell, is_in_quick};

uint64_t rows_of(const struct cell *c, bool is_quick)
{
    if (c->workload == ARRIVAL) return is_quick ? 20000 : 100000;
    if (c->rows) return is_quick && c->rows > 20000 ? 20000 : c->rows;
    return is_quick ? 8192 : 131072;
}

/* A third of them before the timed part. At 1 ms a clock and 200 accesses of three nodes: a million
 * in 1670. */
unsigned clocks_of(const struct cell *c, bool is_quick)
{
    if (is_quick) return 150;
    if (c->nodes == 3) return 2700;
    return c->period_us ? 1500 : 6000;
}

double seconds_of(bool is_quick)
{
    return is_quick ? 0.1 : 2;
}
