#include "run_page.h"

#include "chart.h"
#include "fail.h"
#include "markup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A curve has so many points at most: more are not seen. Of more nodes than have a line each there
 * are the least, the median and the most. */
enum { POINTS_MAX = 240, ROWS_SHOWN = 64 };

struct lines {
    const struct run_parts *parts;
    size_t points;                             /* of each: at the end of equal pieces of the run */
    double *x, *y[CHART_SERIES_MAX], *of_node; /* [points]; of_node [nodes] */
    char label[CHART_SERIES_MAX][32];
};

static void open_lines(struct lines *l, const struct run_parts *p)
{
    size_t most = 0;
    *l = (struct lines){.parts = p};
    for (unsigned i = 0; i < p->nodes; i++)
        if (p->node[i].samples > most) most = p->node[i].samples;
    l->points = most < 2 ? 1 : most - 1 < POINTS_MAX ? most - 1 : POINTS_MAX;
    l->x = take_memory(l->points, sizeof *l->x);
    l->of_node = take_memory(p->nodes + 1, sizeof *l->of_node);
    for (int i = 0; i < CHART_SERIES_MAX; i++) l->y[i] = take_memory(l->points, sizeof *l->y[i]);
    for (size_t i = 0; i < l->points; i++)
        l->x[i] = (p->ended_s - p->began_s) * (double)(i + 1) / (double)l->points;
}

static void close_lines(struct lines *l)
{
    free(l->x);
    free(l->of_node);
    for (int i = 0; i < CHART_SERIES_MAX; i++) free(l->y[i]);
}

/* ---- what happened in a piece ---- */

/* A count of a node at a moment, between two samples on the line that joins them. NAN before the
 * first and behind the last, and at no moment. */
static double count_at(const struct run_node *n, enum run_count c, double at_s)
{
    size_t low = 0, high = n->samples;
    if (n->samples == 0 || isnan(at_s) || at_s < n->sample[0].at_s ||
        at_s > n->sample[n->samples - 1].at_s)
        return NAN;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (n->sample[middle].at_s <= at_s)
            low = middle;
        else
            high = middle;
    }
    const struct run_sample *s = &n->sample[low];
    if (high == n->samples) return s->count[c];
    double share = (at_s - s->at_s) / (s[1].at_s - s->at_s);
    return s->count[c] + share * (s[1].count[c] - s->count[c]);
}

struct piece {
    const struct run_node *node;
    double from_s, to_s;
};

static double change(const struct piece *p, enum run_count c)
{
    return count_at(p->node, c, p->to_s) - count_at(p->node, c, p->from_s);
}

static double rate(const struct piece *p, enum run_count c)
{
    return change(p, c) / (p->to_s - p->from_s);
}

static double accesses(const struct piece *p)
{
    return rate(p, RUN_LOCAL) + rate(p, RUN_REPLICA) + rate(p, RUN_REMOTE);
}

static double local_percent(const struct piece *p)
{
    double all = accesses(p);
    return all > 0 ? 100 * (1 - rate(p, RUN_REMOTE) / all) : NAN;
}

static double replica_percent(const struct piece *p)
{
    double all = accesses(p);
    return all > 0 ? 100 * rate(p, RUN_REPLICA) / all : NAN;
}

/* Mean age of replicas, each weighed by how long it was there. */
static double staleness_ms(const struct piece *p)
{
    double held = change(p, RUN_HELD);
    return held > 0 ? 1e-3 * change(p, RUN_AGED) / held : NAN;
}

/* A wait is counted when it is over, so that more can be over than there was time. */
static double waiting_percent(const struct piece *p)
{
    double share = 100 * rate(p, RUN_WAITS_S) / (p->node->workers ? p->node->workers : 1);
    return share < 100 ? share : 100;
}

static double shard_percent(const struct piece *p)
{
    return 100 * rate(p, RUN_SHARDS_S) / (p->node->shards ? p->node->shards : 1);
}

static double resident_mb(const struct piece *p)
{
    return 1e-6 * count_at(p->node, RUN_RESIDENT, p->to_s);
}

/* ---- panels ---- */

/* `of`: what it shows of a piece; NULL: the count itself, a second if it is no gauge. */
struct drawing {
    const char *title;
    double (*of)(const struct piece *);
    double y_max;
    enum run_count count;
};

static double value_of(const struct drawing *d, const struct piece *p)
{
    if (d->of) return d->of(p);
    return run_count_kinds[d->count].is_gauge ? count_at(p->node, d->count, p->to_s)
                                              : rate(p, d->count);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As much of it as the node tells of: a time that is no number, when that is nothing. */
static struct piece piece_of(const struct lines *l, unsigned node, size_t point)
{
    const struct run_node *n = &l->parts->node[node];
    struct piece p = {.node = n, .from_s = point ? l->x[point - 1] : 0, .to_s = l->x[point]};
    if (n->samples == 0) return (struct piece){n, NAN, NAN};
    double first_s = n->sample[0].at_s, last_s = n->sample[n->samples - 1].at_s;
    if (p.from_s < first_s) p.from_s = first_s;
    if (p.to_s > last_s) p.to_s = last_s;
    return p.from_s < p.to_s ? p : (struct piece){n, NAN, NAN};
}

static void add_line(struct lines *l, struct chart *panel, const char *label, size_t line)
{
    snprintf(l->label[line], sizeof l->label[line], "%s", label);
    panel->series[panel->series_count++] = (struct chart_series){
        .label = l->label[line], .x = l->x, .y = l->y[line], .count = l->points};
}

static void add_each_node(struct lines *l, struct chart *panel, const struct drawing *d)
{
    for (unsigned n = 0; n < l->parts->nodes; n++) {
        char label[32];
        if (!l->parts->node[n].has_file) continue;
        for (size_t i = 0; i < l->points; i++) {
            const struct piece p = piece_of(l, n, i);
            l->y[panel->series_count][i] = value_of(d, &p);
        }
        snprintf(label, sizeof label, "node %u", n);
        add_line(l, panel, label, panel->series_count);
    }
}

static void add_spread(struct lines *l, struct chart *panel, const struct drawing *d)
{
    for (size_t i = 0; i < l->points; i++) {
        size_t count = 0;
        for (unsigned n = 0; n < l->parts->nodes; n++) {
            const struct piece p = piece_of(l, n, i);
            double y = l->parts->node[n].has_file ? value_of(d, &p) : NAN;
            if (isfinite(y)) l->of_node[count++] = y;
        }
        qsort(l->of_node, count, sizeof *l->of_node, by_value);
        l->y[0][i] = count ? l->of_node[count - 1] : NAN;
        l->y[1][i] = count ? l->of_node[count / 2] : NAN;
        l->y[2][i] = count ? l->of_node[0] : NAN;
    }
    add_line(l, panel, "most", 0);
    add_line(l, panel, "median node", 1);
    add_line(l, panel, "least", 2);
}

/* All have the same moments above each other. */
static struct chart panel_of(const struct run_parts *p, const char *title)
{
    return (struct chart){
        .title = title, .x_label = "seconds", .x_max = p->ended_s - p->began_s, .has_gaps = true};
}

static void put_panel(struct lines *l, FILE *f, const struct drawing *d)
{
    struct chart c = panel_of(l->parts, d->title);
    c.y_max = d->y_max;
    if (l->parts->nodes <= CHART_SERIES_MAX)
        add_each_node(l, &c, d);
    else
        add_spread(l, &c, d);
    chart_put(&c, f);
}

static void put_sum(struct lines *l, FILE *f)
{
    static const enum run_count part[] = {RUN_LOCAL, RUN_REPLICA, RUN_REMOTE};
    static const char *const label[] = {"main copy here", "replica here", "other node"};
    struct chart c = panel_of(l->parts, "Keys accessed a second, all nodes");
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        for (size_t i = 0; i < l->points; i++) {
            l->y[k][i] = 0;
            for (unsigned n = 0; n < l->parts->nodes; n++) {
                const struct piece p = piece_of(l, n, i);
                double y = rate(&p, part[k]);
                if (isfinite(y)) l->y[k][i] += y;
            }
        }
        add_line(l, &c, label[k], k);
    }
    chart_put(&c, f);
}

/* Curves of one name in one picture, a line for each node that has one. */
static void put_curve(const struct run_parts *p, size_t first, FILE *f)
{
    char label[CHART_SERIES_MAX][32];
    struct chart c = panel_of(p, p->curve[first].name);
    for (size_t i = first; i < p->curves && c.series_count < CHART_SERIES_MAX; i++) {
        const struct run_curve *of = &p->curve[i];
        if (strcmp(of->name, p->curve[first].name) != 0) continue;
        snprintf(label[c.series_count], sizeof *label, "node %u", of->node);
        c.series[c.series_count] = (struct chart_series){
            .label = label[c.series_count], .x = of->at_s, .y = of->y, .count = of->points};
        c.series_count++;
    }
    if (c.series_count == 1) c.series[0].label = p->curve[first].name;
    chart_put(&c, f);
}

static void put_curves(const struct run_parts *p, FILE *f)
{
    for (size_t i = 0; i < p->curves; i++) {
        size_t before = 0;
        while (before < i && strcmp(p->curve[before].name, p->curve[i].name) != 0) before++;
        if (before == i) put_curve(p, i, f);
    }
}

static void put_drawings(const struct run_parts *p, FILE *f)
{
    static const struct drawing all[] = {
        {"Accesses without the network, %", .of = local_percent, .y_max = 100},
        {"Accesses of replicas, %", .of = replica_percent},
        {"Workers wait for other nodes, % of their time", .of = waiting_percent, .y_max = 100},
        {"Age of replicas, ms", .of = staleness_ms},
        {"Bytes sent a second", .count = RUN_SENT},
        {"Shards' load, % of a core each", .of = shard_percent},
        {"Cores that the process takes", .count = RUN_CPU_S},
        {"Rows that came a second", .count = RUN_RELOCATED},
        {"Replicas that came a second", .count = RUN_COPIED},
        {"Replicas held", .count = RUN_REPLICAS},
        {"Rows owned", .count = RUN_OWNED},
        {"Late keys a second", .count = RUN_LATE},
        {"Memory, MB", .of = resident_mb},
        {"Clock of the slowest worker", .count = RUN_CLOCK},
    };
    struct lines l;
    open_lines(&l, p);
    fputs("<div class=\"charts\">\n", f);
    put_curves(p, f);
    if (p->nodes) put_sum(&l, f);
    for (size_t i = 0; p->nodes && i < sizeof all / sizeof *all; i++) put_panel(&l, f, &all[i]);
    fputs("</div>\n", f);
    close_lines(&l);
}

/* ---- tables ---- */

static void put_row(FILE *f, const char *name, const char *value)
{
    fputs("<tr><td>", f);
    markup_text(f, name);
    fputs("</td><td>", f);
    markup_text(f, value);
    fputs("</td></tr>\n", f);
}

static void put_number(FILE *f, const char *name, unsigned value)
{
    fprintf(f, "<tr><td>%s</td><td>%u</td></tr>\n", name, value);
}

static void put_settings(const struct run_parts *p, FILE *f)
{
    const struct run_node *first = NULL;
    for (unsigned i = 0; i < p->nodes && !first; i++)
        if (p->node[i].has_file) first = &p->node[i];
    fputs("<h2>Settings</h2>\n<table>\n", f);
    if (first) {
        put_number(f, "nodes", p->nodes);
        put_number(f, "workers of each", first->workers);
        put_number(f, "shards of each", first->shards);
        put_row(f, "technique", first->technique);
        put_row(f, "tables (rows x floats)", first->tables);
        put_row(f, "command", first->command);
    }
    for (size_t i = 0; i < p->settings; i++) put_row(f, p->setting[i].name, p->setting[i].value);
    fputs("</table>\n", f);
}

static double end_of(const struct run_node *n, enum run_count c)
{
    return n->samples ? n->sample[n->samples - 1].count[c] : 0;
}

static void put_node(const struct run_parts *p, FILE *f, unsigned rank)
{
    const struct run_node *n = &p->node[rank];
    double all = end_of(n, RUN_LOCAL) + end_of(n, RUN_REPLICA) + end_of(n, RUN_REMOTE), most = 0;
    if (!n->has_file) {
        fprintf(f, "<tr><td>%u</td><td colspan=\"8\">its file is not here</td></tr>\n", rank);
        return;
    }
    for (size_t i = 0; i < n->samples; i++)
        if (n->sample[i].count[RUN_RESIDENT] > most) most = n->sample[i].count[RUN_RESIDENT];
    fprintf(f, "<tr><td>%u</td><td>%.4g</td><td>%.2f</td>", rank, all,
            all > 0 ? 100 * (1 - end_of(n, RUN_REMOTE) / all) : 100);
    fprintf(f, "<td>%.0f</td><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%.0f</td>",
            end_of(n, RUN_RELOCATED), end_of(n, RUN_COPIED), 1e-6 * end_of(n, RUN_SENT),
            end_of(n, RUN_SHARDS_S), 1e-6 * most);
    fprintf(f, "<td>%s</td></tr>\n", n->has_ended ? "yes" : "no: it was killed, or still runs");
}

static void put_nodes(const struct run_parts *p, FILE *f)
{
    if (!p->nodes) return;
    fputs(
        "<h2>Nodes</h2>\n<table>\n<tr><th>node</th><th>keys accessed</th><th>without the network, "
        "%</th><th>rows that came</th><th>replicas that came</th><th>MB sent</th>"
        "<th>shards' CPU, s</th><th>memory, MB</th><th>ended in order</th></tr>\n",
        f);
    for (unsigned i = 0; i < p->nodes && i < ROWS_SHOWN; i++) put_node(p, f, i);
    fputs("</table>\n", f);
    if (p->nodes > ROWS_SHOWN) fprintf(f, "<p>and %u more</p>\n", p->nodes - ROWS_SHOWN);
}

/* ---- the page ---- */

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
    "<title>locus report</title>\n"
    "<style>\n"
    "body { font: 14px/1.45 system-ui, sans-serif; color: #222; background: #fff; margin: 24px auto; "
    "max-width: 1080px; padding: 0 12px; }\n"
    "h1 { font-size: 22px; margin: 0; }\n"
    "h2 { font-size: 16px; margin: 22px 0 6px; }\n"
    "p { margin: 2px 0 12px; color: #555; }\n"
    ".charts { display: flex; flex-wrap: wrap; }\n"
    "table { border-collapse: collapse; }\n"
    "td, th { border-bottom: 1px solid #e4e4e4; padding: 3px 14px 3px 0; text-align: left; "
    "vertical-align: top; font-weight: normal; overflow-wrap: anywhere; }\n"
    "th, tr td:first-child { color: #555; }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n";

void run_page_put(const struct run_parts *p, FILE *f)
{
    char when[64] = "";
    time_t began = (time_t)p->began_s;
    struct tm day;
    if (localtime_r(&began, &day)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &day);
    fputs(head, f);
    fputs("<h1>locus", f);
    if (p->program) fputc(' ', f);
    if (p->program) markup_text(f, p->program);
    fprintf(f, "</h1>\n<p>%s, %.4g seconds</p>\n", when, p->ended_s - p->began_s);
    put_drawings(p, f);
    put_nodes(p, f);
    put_settings(p, f);
    fputs("</body>\n</html>\n", f);
}
