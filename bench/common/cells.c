#include "cells.h"

bool cells_selected(const struct run *r, const struct cells *c, unsigned number)
{
    char name[CELL_NAME];
    if (r->options.quick && !c->is_in_quick(number)) return false;
    c->name(number, name);
    return run_selects(r, name);
}

unsigned cells_selected_count(const struct run *r, const struct cells *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->count; i++) count += cells_selected(r, c, i);
    return count;
}

void cells_measure(const struct run *r, const struct cells *c,
                   void (*measure)(void *bench, unsigned number, unsigned repetition), void *bench)
{
    for (unsigned repetition = 0; repetition < r->repetitions; repetition++)
        for (unsigned i = 0; i < c->count; i++)
            if (cells_selected(r, c, i)) measure(bench, i, repetition);
}
