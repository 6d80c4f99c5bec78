/*
 * chart.h - a picture of a run: a few lines over one axis, as SVG.
 *
 * Callers   one thread
 * Memory    the caller's
 * Waiting   for the file
 */
#ifndef APPS_CHART_H
#define APPS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CHART_SERIES_MAX = 6 };

/* Points with x ascending; those whose y is not finite are left out. */
struct chart_series {
    const char *label;
    const double *x, *y;
    size_t count;
};

struct chart {
    const char *title, *x_label;
    struct chart_series series[CHART_SERIES_MAX];
    size_t series_count;
    double x_max, y_max; /* 0: the largest value */
    bool has_gaps;       /* where points are left out; else the line goes on to the next one */
};

void chart_put(const struct chart *, FILE *);

#endif
