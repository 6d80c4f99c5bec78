/* Which cells there are, and what they are called. */
#include "bench.h"

const char *const workload_names[WORKLOADS] = {"skewed", "own", "shared"};

static const struct
    cell
        all
            [] =
                {
                    {SKEWED, 4, 0, true},       {SKEWED, 16, 0, true},
                    {SKEWED, 64, 0, false},     {SKEWED, 256, 0, false},
                    {OWN, 4, 0, true},          {OWN, 16, 0, true},
                    {OWN, 64, 0, false},        {OWN, 256, 0, false},
                    {SHARED, 4, 10, true},      {SHARED, 16, 10, true},
                    {SHARED, 64, 10, false},    {SHARED, 256, 10, false},
                    {SHARED, 4, 100, true},     {SHARED, 16, 100, false},
                    {SHARED, 64, 100, false},   {SHARED, 256, 100, false},
                    {SHARED, 4, 1000, false},   {SHARED, 16, 1000, false},
                    {SHARED, 64, 1000, false},  {SHARED, 256, 1000, false},
                    {SHARED, 4, 10000, false},  {SHARED, 16, 10000, false},
                    {SHARED, 64, 10000, false}, /* 256 of them: too much memory for most machines */
};

const struct cell *cell_at(unsigned number)
{
    return &all[number];
}

static void name_cell(unsigned number, char name[CELL_NAME])
{
    const struct cell *c = cell_at(number);
    int n = snprintf(name, CELL_NAME, "%s nodes=%u", workload_names[c->workload], c->nodes);
    if (c->keys) snprintf(name + n, CELL_NAME - (size_t)n, " keys=%u", c->keys);
}

/* Shared rows change often beside how often they are synchronized, and a worker has time for all of
 * them in a clock. */
struct load load_of(const struct bench *b, const struct cell *c)
{
    struct load l = b->load;
    if (c->workload != SHARED) return l;
    l.keys = l.rows = c->keys;
    l.period_us = c->keys > 100 ? c->keys : 100;
    l.clocks = l.clocks / (c->keys > 1000 ? 12 : c->keys > 100 ? 4 : 2);
    return l;
}

static bool is_in_quick(unsigned number)
{
    return cell_at(number)->in_quick;
}

const struct cells cells = {sizeof all / sizeof *all, name_cell, is_in_quick};
