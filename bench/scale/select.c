/* Which cells there are, and what they are called. */
#include "bench.h"

const char *const workload_names[WORKLOADS] = {"skewed", "own"};

static const struct cell all[] = {
    {SKEWED, 4, true}, {SKEWED, 16, true}, {SKEWED, 64, false}, {SKEWED, 256, false},
    {OWN, 4, true},    {OWN, 16, true},    {OWN, 64, false},    {OWN, 256, false},
};

const struct cell *cell_at(unsigned number)
{
    return &all[number];
}

static void name_cell(unsigned number, char name[CELL_NAME])
{
    const struct cell *c = cell_at(number);
    snprintf(name, CELL_NAME, "%s nodes=%u", workload_names[c->workload], c->nodes);
}

static bool is_in_quick(unsigned number)
{
    return cell_at(number)->in_quick;
}

const struct cells cells = {sizeof all / sizeof *all, name_cell, is_in_quick};
