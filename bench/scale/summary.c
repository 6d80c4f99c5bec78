/* What the number of nodes does to the cost of one: the target, and the drawing. */
#include "bench.h"

#include "../common/plot.h"
#include "../common/table.h"

#include <math.h>

#define AIM 1.5

struct cost {
    enum metric metric;
    const char *name;
};
static const struct cost costs[] = {
    {SHARD, "shard's time"}, {BYTES, "bytes sent"}, {MESSAGES, "messages sent"}};
enum { COSTS = sizeof costs / sizeof *costs };

/* The cell of as few nodes as there are, with the same workload. */
static unsigned smallest_of(enum workload w)
{
    unsigned number = 0;
    while (cell_at(number)->workload != w) number++;
    return number;
}

/* Times what a node costs in the smallest cluster; NAN when one of the two was not measured. */
static double times(const struct bench *b, unsigned number, enum metric m)
{
    unsigned smallest = smallest_of(cell_at(number)->workload);
    if (!b->results[number].measured || !b->results[smallest].measured) return NAN;
    return b->results[number].value[m] / b->results[smallest].value[m];
}

static void add_times(struct table *t, const struct bench *b, unsigned number)
{
    char name[CELL_NAME];
    double worst = 0;
    cells.name(number, name);
    table_add(t, "%s", name);
    for (unsigned i = 0; i < COSTS; i++) {
        double x = times(b, number, costs[i].metric);
        table_add(t, "%.2fx", x);
        if (costs[i].metric != MESSAGES) worst = fmax(worst, x);
    }
    table_add(t, "%s", run_verdict(&b->run, worst <= AIM));
}

void summary_targets(const struct bench *b)
{
    struct table t = table_new("lrrrl");
    table_add(&t, "a node, times one of 4");
    for (unsigned i = 0; i < COSTS; i++) table_add(&t, "%s", costs[i].name);
    table_add(&t, "time and bytes at most %.1fx", AIM);
    for (unsigned i = 0; i < cells.count; i++) {
        if (cell_at(i)->workload == SHARED) continue;
        bool is_smallest = i == smallest_of(cell_at(i)->workload);
        if (!is_smallest && !isnan(times(b, i, SHARD))) add_times(&t, b, i);
    }
    table_print(&t, b->run.report);
    fflush(b->run.report);
}

void report_draw(const struct bench *b)
{
    struct plot_group groups[32];
    char labels[32][16];
    struct plot p = {
        .title = "What a node costs among many (simulated)",
        .subtitle =
            "the library on virtual time; load of each node the same in all; times a node of the "
            "smallest cluster",
        .axis = "times",
        .label_name = "nodes",
        .unit = "x",
        .baseline = "the smallest",
        .series_count = COSTS,
        .groups = groups};
    for (unsigned c = 0; c < COSTS; c++) p.series[c] = costs[c].name;
    for (unsigned i = 0; i < cells.count && p.group_count < 32; i++) {
        if (cell_at(i)->workload == SHARED || isnan(times(b, i, SHARD))) continue;
        struct plot_group *g = &groups[p.group_count];
        snprintf(labels[p.group_count], sizeof labels[0], "%u", cell_at(i)->nodes);
        *g = (struct plot_group){.section = workload_names[cell_at(i)->workload],
                                 .label = labels[p.group_count++]};
        for (unsigned c = 0; c < COSTS; c++) g->values[c] = times(b, i, costs[c].metric);
    }
    if (p.group_count > 0) plot_svg(&p, 1, b->run.options.svg, b->run.report);
}
