#include "chart.h"

#include "markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 350,
    HEIGHT = 288,
    PLOT_LEFT = 58,
    PLOT_WIDTH = 250,
    PLOT_TOP = 48,
    PLOT_HEIGHT = 190,
    TICKS = 4,
    DOTS_MAX = 60, /* in more points nobody sees them */
};

static const char *const colours[CHART_SERIES_MAX] = {"#1f6fb4", "#e08a2e", "#5aa469",
                                                      "#a04da0", "#c0504d", "#7f7f7f"};

/* 1, 2 or 5 times a power of ten: about as many steps as ticks are wanted. */
static double step_of(double range)
{
    double raw = range / TICKS, power = pow(10, floor(log10(raw))), rest = raw / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static void number_text(char *text, size_t capacity, double value)
{
    if (fabs(value) >= 1e6) {
        snprintf(text, capacity, "%gM", value * 1e-6);
    } else if (fabs(value) >= 1e4) {
        snprintf(text, capacity, "%gk", value * 1e-3);
    } else {
        snprintf(text, capacity, "%g", fabs(value) < 1e-12 ? 0 : value);
    }
}

/* The part of the plane that is shown: both axes begin at 0. */
struct area {
    double x_max, y_max;
};

static struct area area_of(const struct chart *p)
{
    struct area a = {.x_max = p->x_max, .y_max = p->y_max};
    for (size_t s = 0; s < p->series_count; s++) {
        for (size_t i = 0; i < p->series[s].count; i++) {
            double x = p->series[s].x[i], y = p->series[s].y[i];
            if (!isfinite(y)) continue;
            if (p->x_max <= 0 && x > a.x_max) a.x_max = x;
            if (p->y_max <= 0 && y > a.y_max) a.y_max = y;
        }
    }
    if (a.x_max <= 0) a.x_max = 1;
    if (a.y_max <= 0) a.y_max = 1;
    return a;
}

static double x_of(const struct area *a, double x)
{
    return PLOT_LEFT + x / a->x_max * PLOT_WIDTH;
}

static double y_of(const struct area *a, double y)
{
    return PLOT_TOP + PLOT_HEIGHT - y / a->y_max * PLOT_HEIGHT;
}

static void put_axes(FILE *f, const struct chart *p, const struct area *a)
{
    char text[32];
    double step = step_of(a->y_max);
    for (int i = 0; i * step <= a->y_max * 1.0001; i++) {
        double y = y_of(a, i * step);
        fprintf(f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/>\n", PLOT_LEFT,
                y, PLOT_LEFT + PLOT_WIDTH, y, i == 0 ? "#888888" : "#e8e8e8");
        number_text(text, sizeof text, i * step);
        svg_text(f, PLOT_LEFT - 6, y + 4, 11, "#333333", "end", text);
    }
    step = step_of(a->x_max);
    for (int i = 0; i * step <= a->x_max * 1.0001; i++) {
        number_text(text, sizeof text, i * step);
        svg_text(f, x_of(a, i * step), PLOT_TOP + PLOT_HEIGHT + 16, 11, "#333333", "middle", text);
    }
    svg_text(f, PLOT_LEFT + PLOT_WIDTH / 2.0, PLOT_TOP + PLOT_HEIGHT + 33, 11, "#555555", "middle",
             p->x_label);
}

static void put_line(FILE *f, const struct chart_series *s, const struct area *a, bool has_gaps,
                     const char *colour)
{
    bool is_open = false;
    for (size_t i = 0; i < s->count; i++) {
        bool is_shown = isfinite(s->y[i]);
        if (is_open && !is_shown && has_gaps) {
            fputs("\"/>\n", f);
            is_open = false;
        }
        if (!is_shown) continue;
        if (!is_open)
            fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                    colour);
        is_open = true;
        fprintf(f, "%.1f,%.1f ", x_of(a, s->x[i]), y_of(a, s->y[i]));
    }
    if (is_open) fputs("\"/>\n", f);
}

static void put_dots(FILE *f, const struct chart_series *s, const struct area *a,
                     const char *colour)
{
    for (size_t i = 0; i < s->count && s->count <= DOTS_MAX; i++) {
        if (isfinite(s->y[i]))
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"%s\"/>\n", x_of(a, s->x[i]),
                    y_of(a, s->y[i]), colour);
    }
}

/* The names of the lines stand in their colours below the title. */
void chart_put(const struct chart *c, FILE *f)
{
    struct area a = area_of(c);
    double x = PLOT_LEFT;
    fprintf(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"Helvetica,Arial,sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#ffffff\"/>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    svg_text(f, PLOT_LEFT, PLOT_TOP - 28, 13, "#111111", "start", c->title);
    put_axes(f, c, &a);
    for (size_t s = 0; s < c->series_count; s++) {
        put_line(f, &c->series[s], &a, c->has_gaps, colours[s]);
        put_dots(f, &c->series[s], &a, colours[s]);
        if (c->series_count == 1) continue;
        svg_text(f, x, PLOT_TOP - 11, 11, colours[s], "start", c->series[s].label);
        x += 16 + 6.2 * (double)strlen(c->series[s].label);
    }
    fputs("</svg>\n", f);
}
