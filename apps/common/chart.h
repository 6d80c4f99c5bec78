/*
 * chart.h - a picture of a training run: panels beside each other, each with a few lines over one
 * axis, as SVG.
 *
 * Callers   one thread
 * Memory    the caller's
 * Waiting   for the file. One that cannot be written ends the program with a sentence
 */
#ifndef APPS_CHART_H
#define APPS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CHART_SERIES_MAX = 6, CHART_PANELS_MAX = 4 };

/* Points with x ascending; those whose y is not finite are left out. */
struct chart_series {
    const char *label;
    const double *x, *y;
    size_t count;
};

struct chart_panel {
    const char *title, *x_label;
    struct chart_series series[CHART_SERIES_MAX];
    size_t series_count;
    double x_max, y_max; /* 0: the largest value */
    bool has_gaps;       /* where points are left out; else the line goes on to the next one */
};

struct chart {
    const char *title, *subtitle; /* NULL: there is no room for them either */
    struct chart_panel panels[CHART_PANELS_MAX];
    size_t panel_count;
};

void chart_write(const struct chart *, const char *path);
/* The same within another file: an <svg>. */
void chart_put(const struct chart *, FILE *);

#endif
