/*
 * groups.h - tables of a setting's steps, in groups: calls one after the other, calls in flight,
 * floors. The order of a table is not that of measuring.
 *
 * Callers   the benchmark's thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef BENCH_GROUPS_H
#define BENCH_GROUPS_H

#include "run.h"
#include "table.h"

enum { GROUP_STEPS = 4 };

struct groups {
    unsigned none; /* the step that fills up groups of fewer */
    const unsigned (*steps)[GROUP_STEPS];
    bool (*is_measured)(const void *setting, unsigned step);
};

/* The first `count` groups, an empty line between two; steps that were not measured are left
 * out. */
struct groups_table {
    const char *columns;
    const char *const *header;
    unsigned count;
    void (*add)(struct table *t, const void *setting, unsigned step);
};
void groups_print(const struct run *r, const struct groups *g, const struct groups_table *shown,
                  const void *setting);

#endif
