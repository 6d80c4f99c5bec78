#include "run_parts.h"

#include "regular.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool run_line_is_whole(const char *line)
{
    size_t n = strcspn(line, "\r\n");
    return n >= 2 && line[0] == '{' && line[n - 1] == '}';
}

/* Behind "name":, which a text cannot contain: its quotes have backslashes. */
static const char *find(const char *line, const char *name)
{
    char pattern[64];
    int n = snprintf(pattern, sizeof pattern, "\"%s\":", name);
    const char *at = n > 0 && (size_t)n < sizeof pattern ? strstr(line, pattern) : NULL;
    return at ? at + n : NULL;
}

bool run_line_number(const char *line, const char *name, double *out)
{
    const char *at = find(line, name);
    char *end;
    if (!at || *at == '"') return false;
    double value = strtod(at, &end);
    if (end == at || !isfinite(value)) return false;
    *out = value;
    return true;
}

/* Seconds since 1970, of microseconds. Differences of them are times, too. */
static bool read_time(const char *line, double *at_s)
{
    double us;
    if (!run_line_number(line, "t", &us) || !(us >= 0 && us <= 0x1p53)) return false;
    *at_s = 1e-6 * us;
    return true;
}

/* What a backslash stands before. Of \u.... only what json.h writes: control characters, which are
 * shown as a blank, and U+FFFD. */
static const char *unescape(const char *at, char *c)
{
    if (at[1] == 'u') {
        *c = at[2] == 'f' ? '?' : ' ';
        size_t n = strspn(at + 2, "0123456789abcdef");
        return at + 2 + (n < 4 ? n : 4);
    }
    *c = at[1];
    return at[1] ? at + 2 : at + 1;
}

bool run_line_text(const char *line, const char *name, char *out, size_t capacity)
{
    const char *at = find(line, name);
    size_t n = 0;
    if (!at || *at++ != '"') return false;
    while (*at && *at != '"') {
        char c = *at;
        if (c == '\\')
            at = unescape(at, &c);
        else
            at++;
        if (n + 1 < capacity) out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

enum { PATH_BYTES = 4096 };

#define KIND(number, name, is_gauge) [number] = {name, is_gauge},
const struct run_count_kind run_count_kinds[RUN_COUNTS] = {RUN_COUNT_TABLE(KIND)};

/* ---- curves ---- */

static struct run_curve *curve_of(struct run_parts *p, unsigned node, const char *name)
{
    for (size_t i = 0; i < p->curves; i++)
        if (p->curve[i].node == node && strcmp(p->curve[i].name, name) == 0) return &p->curve[i];
    if (p->curves == RUN_CURVES_MAX) return NULL;
    struct run_curve *c = &p->curve[p->curves++];
    c->node = node;
    snprintf(c->name, sizeof c->name, "%.31s", name);
    return c;
}

static bool add_point(struct run_curve *c, double at_s, double y)
{
    if (c->points == RUN_SAMPLES_MAX) return true;
    if (c->points == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 64;
        double *at = realloc(c->at_s, capacity * sizeof *at);
        if (at) c->at_s = at;
        double *values = at ? realloc(c->y, capacity * sizeof *values) : NULL;
        if (!values) return false;
        c->y = values;
        c->capacity = capacity;
    }
    c->at_s[c->points] = at_s;
    c->y[c->points++] = y;
    return true;
}

/* False: the line is none of a curve. */
static bool read_point(struct run_parts *p, unsigned node, const char *line)
{
    char name[RUN_TEXT_MAX];
    double at, y;
    if (!run_line_text(line, "curve", name, sizeof name) || !read_time(line, &at) ||
        !run_line_number(line, "y", &y))
        return false;
    struct run_curve *c = curve_of(p, node, name);
    if (c) add_point(c, at, y);
    return true;
}

/* ---- a node's file ---- */

static bool add_sample(struct run_node *n, const char *line)
{
    double at;
    if (!read_time(line, &at)) return false;
    if (n->samples == RUN_SAMPLES_MAX) return true;
    if (n->samples == n->capacity) {
        size_t capacity = n->capacity ? 2 * n->capacity : 256;
        struct run_sample *more = realloc(n->sample, capacity * sizeof *more);
        if (!more) return false;
        n->sample = more;
        n->capacity = capacity;
    }
    struct run_sample *s = &n->sample[n->samples];
    *s = (struct run_sample){.at_s = at};
    for (int i = 0; i < RUN_COUNTS; i++)
        run_line_number(line, run_count_kinds[i].name, &s->count[i]);
    /* Time may be set back, and a curve goes on all the same. */
    if (n->samples == 0 || s[-1].at_s < s->at_s) n->samples++;
    double ends = 0;
    n->has_ended |= run_line_number(line, "end", &ends) && ends > 0;
    return true;
}

static bool read_head(struct run_node *n, const char *line, unsigned *node, unsigned *nodes)
{
    double rank, size, workers, shards;
    if (!run_line_number(line, "node", &rank) || !run_line_number(line, "nodes", &size) ||
        !run_line_number(line, "workers", &workers) || !run_line_number(line, "shards", &shards) ||
        !read_time(line, &n->began_s) || !(rank >= 0 && rank < size && size <= RUN_NODES_MAX) ||
        !(workers >= 0 && workers <= UINT_MAX && shards >= 0 && shards <= UINT_MAX))
        return false;
    *node = (unsigned)rank;
    *nodes = (unsigned)size;
    n->workers = (unsigned)workers;
    n->shards = (unsigned)shards;
    run_line_text(line, "technique", n->technique, sizeof n->technique);
    run_line_text(line, "tables", n->tables, sizeof n->tables);
    run_line_text(line, "command", n->command, sizeof n->command);
    return true;
}

static void read_lines(struct run_parts *p, unsigned rank, struct run_node *n, FILE *f)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, f) > 0)
        if (!run_line_is_whole(line) || (!read_point(p, rank, line) && !add_sample(n, line)))
            n->cut++;
    free(line);
}

/* NULL: *is_absent, or it cannot be read, and `why` says it. */
static FILE *open_part(const char *path, char *why, bool *is_absent)
{
    const char *reason;
    FILE *f = regular_stream(path, &reason);
    *is_absent = !f && access(path, F_OK) != 0 && errno == ENOENT;
    if (!f && !*is_absent) snprintf(why, RUN_TEXT_MAX, "%.300s cannot be read: %s", path, reason);
    return f;
}

/* False: it is not of this run; `why` says it. */
static bool read_node(struct run_parts *p, const char *prefix, unsigned rank, char *why)
{
    char path[PATH_BYTES], *line = NULL;
    size_t capacity = 0;
    unsigned node = 0, nodes = 0;
    struct run_node n = {.has_file = true};
    bool ok;
    snprintf(path, sizeof path, "%s.%u.report.jsonl", prefix, rank);
    FILE *f = open_part(path, why, &ok);
    if (!f) return ok;
    ok = getline(&line, &capacity, f) > 0 && read_head(&n, line, &node, &nodes) && node == rank;
    free(line);
    if (!ok) {
        snprintf(why, RUN_TEXT_MAX, "%.300s is not what LOCUS_REPORT makes a node write", path);
    } else if (p->nodes && nodes != p->nodes) {
        snprintf(why, RUN_TEXT_MAX,
                 "%.300s is of a cluster of %u nodes, others of %u: give each run a prefix", path,
                 nodes, p->nodes);
        ok = false;
    } else if (!p->nodes) {
        p->node = calloc(nodes, sizeof *p->node);
        ok = p->node != NULL;
        if (ok) p->nodes = nodes;
        if (!ok) snprintf(why, RUN_TEXT_MAX, "no memory for %u nodes", nodes);
    }
    if (ok) {
        read_lines(p, rank, &n, f);
        p->node[rank] = n;
    }
    fclose(f);
    return ok;
}

/* Rank 0's file may be on another host: whose is here tells how many there are. */
static bool read_nodes(struct run_parts *p, const char *prefix, char *why)
{
    enum { LOOKED_FOR = 256 };
    for (unsigned rank = 0; rank < (p->nodes ? p->nodes : LOOKED_FOR); rank++)
        if (!read_node(p, prefix, rank, why)) return false;
    return true;
}

static void stretch(struct run_parts *p, double at_s)
{
    if (at_s < p->began_s) p->began_s = at_s;
    if (at_s > p->ended_s) p->ended_s = at_s;
}

/* ---- the program's ---- */

static void add_setting(struct run_parts *p, const char *name, const char *value)
{
    if (p->settings == RUN_SETTINGS_MAX) return;
    struct run_setting s = {strdup(name), strdup(value)};
    if (s.name && s.value) {
        p->setting[p->settings++] = s;
        return;
    }
    free(s.name);
    free(s.value);
}

static void read_program_line(struct run_parts *p, const char *line)
{
    char name[RUN_TEXT_MAX], value[RUN_TEXT_MAX];
    double at;
    if (read_time(line, &at)) stretch(p, at);
    if (run_line_text(line, "program", name, sizeof name)) {
        free(p->program);
        p->program = strdup(name);
    } else if (run_line_text(line, "setting", name, sizeof name) &&
               run_line_text(line, "value", value, sizeof value)) {
        add_setting(p, name, value);
    } else {
        read_point(p, 0, line);
    }
}

/* False: it cannot be read; `why` says it. */
static bool read_program(struct run_parts *p, const char *prefix, char *why)
{
    char path[PATH_BYTES], *line = NULL;
    size_t capacity = 0;
    bool is_absent;
    snprintf(path, sizeof path, "%s.run.jsonl", prefix);
    FILE *f = open_part(path, why, &is_absent);
    if (!f) return is_absent;
    while (getline(&line, &capacity, f) > 0)
        if (run_line_is_whole(line)) read_program_line(p, line);
    free(line);
    fclose(f);
    return true;
}

/* ---- all ---- */

/* Times since the first of all. */
static void align(struct run_parts *p)
{
    for (unsigned i = 0; i < p->nodes; i++)
        for (size_t s = 0; s < p->node[i].samples; s++) stretch(p, p->node[i].sample[s].at_s);
    for (unsigned i = 0; i < p->nodes; i++)
        for (size_t s = 0; s < p->node[i].samples; s++) p->node[i].sample[s].at_s -= p->began_s;
    for (size_t c = 0; c < p->curves; c++)
        for (size_t i = 0; i < p->curve[c].points; i++) p->curve[c].at_s[i] -= p->began_s;
}

bool run_parts_read(struct run_parts *p, const char *prefix, char why[RUN_TEXT_MAX])
{
    *p = (struct run_parts){.began_s = INFINITY};
    if (!read_nodes(p, prefix, why) || !read_program(p, prefix, why)) return false;
    align(p);
    if (p->ended_s > 0) return true;
    snprintf(why, RUN_TEXT_MAX,
             "there is no %.300s.RANK.report.jsonl: nodes write them when they run with "
             "LOCUS_REPORT=%.100s",
             prefix, prefix);
    return false;
}

void run_parts_free(struct run_parts *p)
{
    for (unsigned i = 0; i < p->nodes; i++) free(p->node[i].sample);
    for (size_t i = 0; i < p->settings; i++) {
        free(p->setting[i].name);
        free(p->setting[i].value);
    }
    for (size_t i = 0; i < p->curves; i++) {
        free(p->curve[i].at_s);
        free(p->curve[i].y);
    }
    free(p->node);
    free(p->program);
    *p = (struct run_parts){0};
}
