/* Which cells there are, and what they are called. */
#include "bench.h"

const char *const workload_names[WORKLOADS] = {"skewed", "own"};

static const struct cell cells[] = {
    {SKEWED, 4, true}, {SKEWED, 16, true}, {SKEWED, 64, false}, {SKEWED, 256, false},
    {OWN, 4, true},    {OWN, 16, true},    {OWN, 64, false},    {OWN, 256, false},
};

unsigned cells_count(void)
{
    return sizeof cells / sizeof *cells;
}

const struct cell *cell_at(unsigned number)
{
    return &cells[number];
}

void cell_name(char *name, size_t room, const struct cell *c)
{
    snprintf(name, room, "%s nodes=%u", workload_names[c->workload], c->nodes);
}

bool cell_selected(const struct bench *b, unsigned number)
{
    char name[96];
    const struct cell *c = cell_at(number);
    if (b->options.quick && !c->in_quick) return false;
    cell_name(name, sizeof name, c);
    return options_select(&b->options, name);
}
