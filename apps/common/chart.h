/*
 * chart.h - a picture of a training run: panels beside each other, each with a few lines over one
 * axis, as SVG.
 *
 * Callers   one thread
 * Memory    the caller's
 * Waiting   for the disk. A file that cannot be written ends the program with a sentence
 */
#ifndef APPS_CHART_H
#define APPS_CHART_H

#include <stddef.h>

enum { CHART_SERIES_MAX = 4, CHART_PANELS_MAX = 4 };

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
    double y_max; /* 0: the largest value */
};

struct chart {
    const char *title, *subtitle;
    struct chart_panel panels[CHART_PANELS_MAX];
    size_t panel_count;
};

void chart_write(const struct chart *, const char *path);

#endif
