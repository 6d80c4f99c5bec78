#include "plot.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const colors[PLOT_SERIES_MAX] = {"#1f6fb4", "#c9ccd1", "#e08a2e", "#5aa469",
                                                    "#8e6bb0"};
static const char *const baseline_color = "#c0392b";

#define GAP_BETWEEN_SECTIONS 0.7 /* in groups */
#define BARS_OF_GROUP 0.8        /* the part of a group's width that its bars take */
#define MARGIN 0.7               /* in groups, before the first and behind the last */
#define LEFT 0.075               /* of the plot's area in the picture */
#define RIGHT 0.985
#define NUMBER_WIDTH 0.024       /* of a bar that has room for its number */
#define SMALL_NUMBER_WIDTH 0.016 /* the same in small letters */

static bool is_installed(const char *program)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char file[1024];
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (access(file, X_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Which of so many plots in one picture. */
struct place {
    size_t number, count;
};

static bool starts_section(const struct plot *p, size_t group)
{
    return group == 0 || strcmp(p->groups[group].section, p->groups[group - 1].section) != 0;
}

/* The middle of a group on the x axis. */
static double place_of(const struct plot *p, size_t group)
{
    double place = (double)group;
    for (size_t i = 1; i <= group; i++) {
        if (starts_section(p, i)) place += GAP_BETWEEN_SECTIONS;
    }
    return place;
}

static double bar_width(const struct plot *p)
{
    return BARS_OF_GROUP / (double)p->series_count;
}

static double bar_place(const struct plot *p, size_t group, size_t series)
{
    return place_of(p, group) + ((double)series - (double)(p->series_count - 1) / 2) * bar_width(p);
}

/* In gnuplot's double quotes. */
static void put_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

/* A height in a plot (0: its lower edge, 1: its upper one) as one of the whole picture. */
static double height(const struct place *at, double y)
{
    return ((double)(at->count - 1 - at->number) + y) / (double)at->count;
}

static void put_picture(FILE *f, size_t count, const char *path)
{
    fprintf(
        f,
        "set terminal svg size 1000,%zu font 'Helvetica,Arial,sans-serif,15' background '#ffffff' noenhanced\n"
        "set output ",
        420 * count);
    put_text(f, path);
    fprintf(
        f,
        "\nset multiplot\nset border 1 lc rgb '#888888'\nset tics nomirror scale 0 textcolor rgb '#333333'\n"
        "set grid ytics lc rgb '#e8e8e8' lt 1\nset yrange [0:*]\nset offsets 0,0,graph 0.08,0\n"
        "set lmargin at screen %g\nset rmargin at screen %g\n"
        "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.3,0.3\nset key off\n",
        LEFT, RIGHT);
}

static void put_frame(FILE *f, const struct plot *p, const struct place *at)
{
    fprintf(f, "unset label\nset tmargin at screen %g\nset bmargin at screen %g\n", height(at, 0.8),
            height(at, 0.15));
    fprintf(f, "set label at screen 0.02,%g left font ',19' textcolor rgb '#111111' ",
            height(at, 0.94));
    put_text(f, p->title);
    fprintf(f, "\nset label at screen 0.02,%g left font ',13' textcolor rgb '#555555' ",
            height(at, 0.87));
    put_text(f, p->subtitle);
    fputs("\nset ylabel offset 0.5,0 textcolor rgb '#333333' ", f);
    put_text(f, p->axis);
    fputc('\n', f);
}

/* Gnuplot's own key spreads its entries too far apart: it only guesses the width of letters in an
 * SVG. */
static double put_key_entry(FILE *f, double right, double y, const char *sign, const char *color,
                            const char *text)
{
    double left = right - 0.0076 * (double)strlen(text);
    fputs("set label ", f);
    put_text(f, text);
    fprintf(f, " at screen %g,%g left textcolor rgb '#111111'\n", left, y);
    fprintf(f, "set label \"%s\" at screen %g,%g right textcolor rgb '%s'\n", sign, left - 0.006, y,
            color);
    return left - 0.05;
}

static void put_key(FILE *f, const struct plot *p, const struct place *at)
{
    double right = RIGHT, y = height(at, 0.94);
    if (p->baseline != NULL) right = put_key_entry(f, right, y, "━", baseline_color, p->baseline);
    for (size_t s = p->series_count; s-- > 0;)
        right = put_key_entry(f, right, y, "■", colors[s], p->series[s]);
}

static void put_places(FILE *f, const struct plot *p, const struct place *at)
{
    fprintf(f, "set xrange [%g:%g]\nset xtics (", -MARGIN,
            place_of(p, p->group_count - 1) + MARGIN);
    for (size_t g = 0; g < p->group_count; g++) {
        fputs(g ? ", " : "", f);
        put_text(f, p->groups[g].label);
        fprintf(f, " %g", place_of(p, g));
    }
    fprintf(f, ")\nset label at screen 0.063, screen %g right font ',13' textcolor rgb '#555555' ",
            height(at, 0.098));
    put_text(f, p->label_name);
    fputc('\n', f);
    for (size_t first = 0, end; first < p->group_count; first = end) {
        for (end = first + 1; end < p->group_count && !starts_section(p, end);) end++;
        fputs("set label ", f);
        put_text(f, p->groups[first].section);
        fprintf(f, " at first %g, screen %g center textcolor rgb '#111111'\n",
                (place_of(p, first) + place_of(p, end - 1)) / 2, height(at, 0.04));
    }
}

/* The part of the picture's width that a bar takes. */
static double width_in_picture(const struct plot *p)
{
    return (RIGHT - LEFT) * bar_width(p) / (place_of(p, p->group_count - 1) + 2 * MARGIN);
}

static void put_numbers(FILE *f, const struct plot *p)
{
    double width = width_in_picture(p);
    if (width < SMALL_NUMBER_WIDTH) return;
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(
            f,
            ", $series%zu using 1:2:(sprintf('%%.1f%s', $2)) with labels boxed offset 0,0.65 font ',%d' "
            "textcolor rgb '#333333'",
            s, p->unit, width < NUMBER_WIDTH ? 10 : 12);
    }
}

static void put_bars(FILE *f, const struct plot *p)
{
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(f, "$series%zu << END\n", s);
        for (size_t g = 0; g < p->group_count; g++)
            fprintf(f, "%g %g\n", bar_place(p, g, s), p->groups[g].values[s]);
        fputs("END\n", f);
    }
    fprintf(f, "set style fill solid noborder\nset boxwidth %g\nplot ", 0.92 * bar_width(p));
    if (p->baseline != NULL) fprintf(f, "1 lw 2 lc rgb '%s', ", baseline_color);
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(f, "%s$series%zu with boxes lc rgb '%s'", s ? ", " : "", s, colors[s]);
    }
    put_numbers(f, p);
    fputc('\n', f);
}

static void put_plot(FILE *f, const struct plot *p, const struct place *at)
{
    put_frame(f, p, at);
    put_key(f, p, at);
    put_places(f, p, at);
    put_bars(f, p);
}

void plot_svg(const struct plot *plots, size_t count, const char *path, FILE *report)
{
    if (!is_installed("gnuplot")) {
        fprintf(report, "gnuplot is not installed, so %s was not drawn.\n", path);
        return;
    }
    FILE *f = popen("gnuplot", "w");
    if (f == NULL) {
        fprintf(report, "gnuplot could not be started, so %s was not drawn.\n", path);
        return;
    }
    put_picture(f, count, path);
    for (size_t i = 0; i < count; i++)
        put_plot(f, &plots[i], &(struct place){.number = i, .count = count});
    if (pclose(f) == 0) {
        fprintf(report, "Drawn: %s\n", path);
    } else {
        fprintf(report, "gnuplot could not draw %s.\n", path);
    }
}
