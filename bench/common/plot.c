#include "plot.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const colors[PLOT_SERIES_MAX] = {"#1f6fb4", "#c9ccd1", "#e08a2e", "#5aa469"};
static const char *const baseline_color = "#c0392b";

#define GAP_BETWEEN_SECTIONS 0.7 /* in groups */
#define BARS_OF_GROUP 0.8        /* the part of a group's width that its bars take */

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

static void put_frame(FILE *f, const struct plot *p, const char *path)
{
    fputs("set terminal svg size 1000,420 font 'Helvetica,Arial,sans-serif,15' background '#ffffff' noenhanced\n"
          "set output ",
          f);
    put_text(f, path);
    fputs("\nset border 1 lc rgb '#888888'\nset tics nomirror scale 0 textcolor rgb '#333333'\n"
          "set grid ytics lc rgb '#e8e8e8' lt 1\nset yrange [0:*]\nset offsets 0,0,graph 0.08,0\n"
          "set lmargin at screen 0.075\nset rmargin at screen 0.985\nset tmargin at screen 0.8\n"
          "set bmargin at screen 0.15\nset style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.3,0.3\n"
          "set key off\n"
          "set label 1 at screen 0.02,0.94 left font ',19' textcolor rgb '#111111' ",
          f);
    put_text(f, p->title);
    fputs("\nset label 2 at screen 0.02,0.87 left font ',13' textcolor rgb '#555555' ", f);
    put_text(f, p->subtitle);
    fputs("\nset ylabel offset 0.5,0 textcolor rgb '#333333' ", f);
    put_text(f, p->axis);
    fputc('\n', f);
}

/* Gnuplot's own key spreads its entries too far apart: it only guesses the width of letters in an SVG. */
static double put_key_entry(FILE *f, double right, const char *sign, const char *color, const char *text)
{
    double left = right - 0.0076 * (double)strlen(text);
    fputs("set label ", f);
    put_text(f, text);
    fprintf(f, " at screen %g,0.94 left textcolor rgb '#111111'\n", left);
    fprintf(f, "set label \"%s\" at screen %g,0.94 right textcolor rgb '%s'\n", sign, left - 0.006, color);
    return left - 0.05;
}

static void put_key(FILE *f, const struct plot *p)
{
    double right = 0.985;
    if (p->baseline != NULL) right = put_key_entry(f, right, "━", baseline_color, p->baseline);
    for (size_t s = p->series_count; s-- > 0;) right = put_key_entry(f, right, "■", colors[s], p->series[s]);
}

static void put_places(FILE *f, const struct plot *p)
{
    fprintf(f, "set xrange [-0.7:%g]\nset xtics (", place_of(p, p->group_count - 1) + 0.7);
    for (size_t g = 0; g < p->group_count; g++) {
        fputs(g ? ", " : "", f);
        put_text(f, p->groups[g].label);
        fprintf(f, " %g", place_of(p, g));
    }
    fputs(")\nset label at screen 0.063, screen 0.098 right font ',13' textcolor rgb '#555555' ", f);
    put_text(f, p->label_name);
    fputc('\n', f);
    for (size_t first = 0, end; first < p->group_count; first = end) {
        for (end = first + 1; end < p->group_count && !starts_section(p, end);) end++;
        fputs("set label ", f);
        put_text(f, p->groups[first].section);
        fprintf(f, " at first %g, screen 0.04 center textcolor rgb '#111111'\n",
                (place_of(p, first) + place_of(p, end - 1)) / 2);
    }
}

static void put_bars(FILE *f, const struct plot *p)
{
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(f, "$series%zu << END\n", s);
        for (size_t g = 0; g < p->group_count; g++) fprintf(f, "%g %g\n", bar_place(p, g, s), p->groups[g].values[s]);
        fputs("END\n", f);
    }
    fprintf(f, "set style fill solid noborder\nset boxwidth %g\nplot ", 0.92 * bar_width(p));
    if (p->baseline != NULL) fprintf(f, "1 lw 2 lc rgb '%s', ", baseline_color);
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(f, "$series%zu with boxes lc rgb '%s', ", s, colors[s]);
    }
    for (size_t s = 0; s < p->series_count; s++) {
        fprintf(f,
                "$series%zu using 1:2:(sprintf('%%.1f%s', $2)) with labels boxed offset 0,0.65 font ',12' "
                "textcolor rgb '#333333'%s",
                s, p->unit, s + 1 < p->series_count ? ", " : "\n");
    }
}

void plot_svg(const struct plot *p, const char *path, FILE *report)
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
    put_frame(f, p, path);
    put_key(f, p);
    put_places(f, p);
    put_bars(f, p);
    if (pclose(f) == 0) {
        fprintf(report, "Drawn: %s\n", path);
    } else {
        fprintf(report, "gnuplot could not draw %s.\n", path);
    }
}
