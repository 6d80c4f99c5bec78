#include "groups.h"

static void add_group(struct table *t, const struct groups *g, unsigned group,
                      const struct groups_table *shown, const void *setting)
{
    bool is_first = true;
    for (unsigned i = 0; i < GROUP_STEPS; i++) {
        unsigned step = g->steps[group][i];
        if (step == g->none || !g->is_measured(setting, step)) continue;
        if (is_first) table_gap(t);
        is_first = false;
        shown->add(t, setting, step);
    }
}

void groups_print(const struct run *r, const struct groups *g, const struct groups_table *shown,
                  const void *setting)
{
    struct table t = table_new(shown->columns);
    table_header(&t, shown->header);
    for (unsigned i = 0; i < shown->count; i++) add_group(&t, g, i, shown, setting);
    table_print(&t, r->report);
    fputc('\n', r->report);
}
