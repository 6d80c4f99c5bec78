/*
 * cells.h - a benchmark whose cells stand in one list: which are chosen, and measuring them.
 *
 * Callers   the benchmark's thread
 * Memory    the caller's
 * Waiting   for what is measured
 */
#ifndef BENCH_CELLS_H
#define BENCH_CELLS_H

#include "run.h"

#include <stddef.h>

enum { CELL_NAME = 96 };

/* The benchmark's own list, by numbers from 0. */
struct cells {
    unsigned count;
    void (*name)(unsigned number, char name[CELL_NAME]);
    bool (*is_in_quick)(unsigned number);
};

bool cells_selected(const struct run *r, const struct cells *c, unsigned number);
unsigned cells_selected_count(const struct run *r, const struct cells *c);

/* Calls `measure` for each chosen cell, repetitions outside, so that what else the machine does
 * meets all cells alike. */
void cells_measure(const struct run *r, const struct cells *c,
                   void (*measure)(void *bench, unsigned number, unsigned repetition), void *bench);

#endif
