/*
 * plot.h - draws grouped bars as SVG, through gnuplot.
 *
 * Callers   one thread
 * Memory    the caller's
 * Waiting   for gnuplot to end
 */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stddef.h>
#include <stdio.h>

enum { PLOT_SERIES_MAX = 5 };

/* One group of bars: a bar for each series. Groups of one section stand together under its name. */
struct plot_group {
    const char *section;
    const char *label;
    double values[PLOT_SERIES_MAX];
};

struct plot {
    const char *title;
    const char *subtitle;   /* what was measured, on what */
    const char *axis;       /* what the height is */
    const char *label_name; /* what the labels of the groups are: "floats" */
    const char *unit;       /* behind the number on each bar that has room for one: "x" */
    const char *baseline;   /* what the line at 1 is; NULL: no line */
    const char *series[PLOT_SERIES_MAX];
    size_t series_count;
    const struct plot_group *groups;
    size_t group_count;
};

/* Writes the file, `count` of them one below the other, or says in one sentence on `report` why not
 * (no gnuplot, say). */
void plot_svg(const struct plot *plots, size_t count, const char *path, FILE *report);

#endif
