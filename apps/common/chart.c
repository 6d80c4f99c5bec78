#include "chart.h"

#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    PANEL_WIDTH = 330,
    PLOT_LEFT = 58,
    PLOT_WIDTH = 250,
    PLOT_TOP = 110,
    PLOT_HEIGHT = 190,
    HEIGHT = 350,
    TICKS = 4,
};

static const char *const colours[CHART_SERIES_MAX] = {"#1f6fb4", "#e08a2e", "#5aa469", "#a04da0"};

/* 1, 2 or 5 times a power of ten: about as many steps as ticks are wanted. */
static double step_of(double range)
{
    double raw = range / TICKS, power = pow(10, floor(log10(raw))), rest = raw / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static void number_text(char *text, size_t room, double value)
{
    if (fabs(value) >= 1e6) {
        snprintf(text, room, "%gM", value * 1e-6);
    } else if (fabs(value) >= 1e4) {
        snprintf(text, room, "%gk", value * 1e-3);
    } else {
        snprintf(text, room, "%g", fabs(value) < 1e-12 ? 0 : value);
    }
}

/* The part of the plane that a panel shows: both axes begin at 0. */
struct area {
    double left, x_max, y_max;
};

static struct area area_of(const struct chart_panel *p, size_t index)
{
    struct area a = {.left = (double)index * PANEL_WIDTH + PLOT_LEFT, .y_max = p->y_max};
    for (size_t s = 0; s < p->series_count; s++) {
        for (size_t i = 0; i < p->series[s].count; i++) {
            double x = p->series[s].x[i], y = p->series[s].y[i];
            if (!isfinite(y)) continue;
            if (x > a.x_max) a.x_max = x;
            if (p->y_max <= 0 && y > a.y_max) a.y_max = y;
        }
    }
    if (a.x_max <= 0) a.x_max = 1;
    if (a.y_max <= 0) a.y_max = 1;
    return a;
}

static double x_of(const struct area *a, double x)
{
    return a->left + x / a->x_max * PLOT_WIDTH;
}

static double y_of(const struct area *a, double y)
{
    return PLOT_TOP + PLOT_HEIGHT - y / a->y_max * PLOT_HEIGHT;
}

static void put_axes(FILE *f, const struct chart_panel *p, const struct area *a)
{
    char text[32];
    double step = step_of(a->y_max);
    for (int i = 0; i * step <= a->y_max * 1.0001; i++) {
        double y = y_of(a, i * step);
        fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                a->left, y, a->left + PLOT_WIDTH, y, i == 0 ? "#888888" : "#e8e8e8");
        number_text(text, sizeof text, i * step);
        svg_text(f, a->left - 6, y + 4, 11, "#333333", "end", text);
    }
    step = step_of(a->x_max);
    for (int i = 0; i * step <= a->x_max * 1.0001; i++) {
        number_text(text, sizeof text, i * step);
        svg_text(f, x_of(a, i * step), PLOT_TOP + PLOT_HEIGHT + 16, 11, "#333333", "middle", text);
    }
    svg_text(f, a->left + PLOT_WIDTH / 2.0, PLOT_TOP + PLOT_HEIGHT + 33, 11, "#555555", "middle",
             p->x_label);
}

static void put_series(FILE *f, const struct chart_series *s, const struct area *a,
                       const char *colour)
{
    fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (size_t i = 0; i < s->count; i++) {
        if (isfinite(s->y[i])) fprintf(f, "%.1f,%.1f ", x_of(a, s->x[i]), y_of(a, s->y[i]));
    }
    fputs("\"/>\n", f);
    for (size_t i = 0; i < s->count; i++) {
        if (isfinite(s->y[i]))
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"%s\"/>\n", x_of(a, s->x[i]),
                    y_of(a, s->y[i]), colour);
    }
}

/* The names of the lines stand in their colours below the panel's title. */
static void put_panel(FILE *f, const struct chart_panel *p, size_t index)
{
    struct area a = area_of(p, index);
    svg_text(f, a.left, PLOT_TOP - 28, 13, "#111111", "start", p->title);
    put_axes(f, p, &a);
    double x = a.left;
    for (size_t s = 0; s < p->series_count; s++) {
        put_series(f, &p->series[s], &a, colours[s]);
        if (p->series_count == 1) continue;
        svg_text(f, x, PLOT_TOP - 11, 11, colours[s], "start", p->series[s].label);
        x += 16 + 6.2 * (double)strlen(p->series[s].label);
    }
}

void chart_write(const struct chart *c, const char *path)
{
    struct saving s;
    svg_begin(&s, path, (int)c->panel_count * PANEL_WIDTH + 20, HEIGHT, c->title, c->subtitle);
    for (size_t i = 0; i < c->panel_count; i++) put_panel(s.file, &c->panels[i], i);
    svg_end(&s);
}
