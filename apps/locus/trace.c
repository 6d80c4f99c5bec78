#include "commands.h"

#include "args.h"
#include "fail.h"
#include "page.h"
#include "plain.h"
#include "regular.h"
#include "saving.h"
#include "say.h"
#include "markup.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the picture ---- */

enum { KEYS_MAX = 20 };

enum { TABLES_MAX = 16, NAME_BYTES = 32 };
/* The drawing, in pixels. */
enum { LEFT = 62, WIDTH = 640, RIGHT = 24, TOP = 92, LANE = 11, GAP = 2, TITLE = 30, AXIS = 40 };
enum { EDGE = 3, BAR_MAX = 6 };

static const char owner_colour[] = "#3b76b8", replica_colour[] = "#a8d08d",
                  intent_colour[] = "#f0a030", kept_colour[] = "#8e44ad",
                  write_colour[] = "#111111", remote_colour[] = "#d62728", grey[] = "#555555";

/* Where the key is from now on, or what was done until now. */
struct event {
    uint64_t key;
    long long us;
    size_t number; /* among those of the same moment */
    unsigned node, intends, writes, remote;
    char place; /* 0: counts */
};

struct timeline {
    unsigned nodes;
    struct event *event;
    size_t events, capacity;
    long long first_us, last_us;
    char technique[NAME_BYTES];
    struct {
        char name[NAME_BYTES];
        uint64_t first;
    } table[TABLES_MAX];
    unsigned tables;
};

/* ---- reading ---- */

/* The first line of each file is of the same tables. */
static void read_head(struct timeline *t, const char *line)
{
    const char *at = strstr(line, "\"technique\":\"");
    if (at) sscanf(at, "\"technique\":\"%31[^\"]", t->technique);
    at = strstr(line, "\"tables\":[");
    if (!at || t->tables > 0) return;
    for (at = strchr(at, '[') + 1; at && t->tables < TABLES_MAX; at = strstr(at + 1, "[\"")) {
        unsigned long long first;
        if (sscanf(at, "[\"%31[^\"]\",%llu]", t->table[t->tables].name, &first) != 2) break;
        t->table[t->tables++].first = first;
    }
}

static void add(struct timeline *t, struct event e)
{
    t->event = make_room(t->event, t->events, &t->capacity, sizeof e, "events");
    e.number = t->events;
    t->event[t->events++] = e;
}

/* Lines of other nodes than those are passed over. */
static void add_line(struct timeline *t, const char *line)
{
    struct event e = {0};
    unsigned long long key;
    unsigned pulls, pushes;
    const char *at = strstr(line, "\"t\":");
    long long us = at ? strtoll(at + strlen("\"t\":"), NULL, 10) : 0;
    if (!at) read_head(t, line);
    if (at && us < t->first_us) t->first_us = us;
    if (at && us > t->last_us) t->last_us = us;
    int n = sscanf(line, "{\"n\":%u,\"t\":%lld,\"k\":%llu,\"s\":\"%c\",\"i\":%u}", &e.node, &e.us,
                   &key, &e.place, &e.intends);
    if (n == 3) {
        e.place = 0;
        at = strstr(line, "\"w\":");
        if (!at || sscanf(at, "\"w\":%u,\"p\":%u,\"q\":%u}", &e.writes, &pulls, &pushes) != 3)
            return;
        e.remote = pulls + pushes;
    } else if (n != 5) {
        return;
    }
    e.key = key;
    if (e.node < t->nodes) add(t, e);
}

static int by_lane(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->us != y->us) return x->us < y->us ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- a lane ---- */

/* By columns of pixels. */
struct lane {
    char place[WIDTH], intends[WIDTH];
    unsigned writes[WIDTH], remote[WIDTH];
};

struct picture {
    FILE *file;
    const struct timeline *timeline;
    double from_us, to_us;
};

static int column(const struct picture *p, long long us)
{
    double x = floor(((double)us - p->from_us) / (p->to_us - p->from_us) * WIDTH);
    return x < -1 ? -1 : x > WIDTH ? WIDTH : (int)x;
}

/* A replica shorter than a column fills it. */
static void stay(const struct picture *p, struct lane *l, const struct event *e, long long until_us)
{
    int from = column(p, e->us), to = column(p, until_us);
    for (int x = from < 0 ? 0 : from; x <= to && x < WIDTH; x++) {
        if (e->place == 'r' || (e->place == 'O' && l->place[x] == 0)) l->place[x] = e->place;
        if ((char)e->intends > l->intends[x]) l->intends[x] = (char)e->intends;
    }
}

static void fill_lane(const struct picture *p, struct lane *l, const struct event *e, size_t n)
{
    const struct event *last = NULL;
    memset(l, 0, sizeof *l);
    for (size_t i = 0; i < n; i++) {
        int x = column(p, e[i].us);
        if (e[i].place) {
            if (last) stay(p, l, last, e[i].us);
            last = &e[i];
        } else if (x >= 0 && x < WIDTH) {
            l->writes[x] += e[i].writes;
            l->remote[x] += e[i].remote;
        }
    }
    if (last) stay(p, l, last, p->timeline->last_us);
}

/* Where the values are so: one path, for they are many. */
static void draw_runs(const struct picture *p, const char *values, char wanted, const char *colour,
                      double y, int height)
{
    bool is_open = false;
    for (int x = 0, end; x < WIDTH; x = end) {
        for (end = x + 1; end < WIDTH && values[end] == values[x];) end++;
        if (values[x] != wanted) continue;
        if (!is_open) fprintf(p->file, "<path fill=\"%s\" d=\"", colour);
        is_open = true;
        fprintf(p->file, "M%d %.0fh%dv%dh%dz", LEFT + x, y, end - x, height, x - end);
    }
    if (is_open) fputs("\"/>\n", p->file);
}

/* Thin lines up from y, of that height where there are some; taller for more, if `grows`. */
static void draw_bars(const struct picture *p, const unsigned *values, const char *colour, double y,
                      bool grows)
{
    bool is_open = false;
    for (int x = 0; x < WIDTH; x++) {
        if (values[x] == 0) continue;
        int height = grows ? 1 + (int)log2(values[x]) : BAR_MAX;
        if (height > BAR_MAX) height = BAR_MAX;
        if (!is_open) fprintf(p->file, "<path stroke=\"%s\" d=\"", colour);
        is_open = true;
        fprintf(p->file, "M%d.5 %.0fv-%d", LEFT + x, y, height);
    }
    if (is_open) fputs("\"/>\n", p->file);
}

static void draw_lane(const struct picture *p, const struct lane *l, unsigned node, double y)
{
    char name[24];
    snprintf(name, sizeof name, "node %u", node);
    svg_text(p->file, LEFT - 6, y + LANE - 2, 10, grey, "end", name);
    fprintf(p->file, "<path fill=\"#f3f3f3\" d=\"M%d %.0fh%dv%dh-%dz\"/>\n", LEFT, y, WIDTH, LANE,
            WIDTH);
    draw_runs(p, l->place, 'O', owner_colour, y, LANE);
    draw_runs(p, l->place, 'r', replica_colour, y, LANE);
    draw_runs(p, l->intends, 1, intent_colour, y, EDGE);
    draw_runs(p, l->intends, 2, kept_colour, y, EDGE);
    draw_bars(p, l->writes, write_colour, y + LANE, true);
    draw_bars(p, l->remote, remote_colour, y + LANE - 1, false);
}

/* ---- a key ---- */

struct key {
    const struct event *event;
    size_t events;
};

static int by_events(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->events != y->events) return x->events > y->events ? -1 : 1;
    return (x->event->key > y->event->key) - (x->event->key < y->event->key);
}

/* What has happened between the two times. */
static void say_key(const struct picture *p, const struct key *k, double y)
{
    const struct timeline *t = p->timeline;
    uint64_t writes = 0, remote = 0, moves = 0, replicas = 0;
    char text[160], name[NAME_BYTES + 48] = "", before = 0;
    for (size_t i = 0; i < k->events; i++) {
        const struct event *e = &k->event[i];
        if (i == 0 || e[-1].node != e->node) before = 0;
        bool is_new = e->place && before && e->place != before;
        if (e->place) before = e->place;
        if ((double)e->us < p->from_us || (double)e->us > p->to_us) continue;
        writes += e->writes;
        remote += e->remote;
        moves += is_new && e->place == 'O';
        replicas += is_new && e->place == 'r';
    }
    for (unsigned i = 0; i < t->tables && t->table[i].first <= k->event->key; i++)
        snprintf(name, sizeof name, ", %s row %llu", t->table[i].name,
                 (unsigned long long)(k->event->key - t->table[i].first));
    snprintf(
        text, sizeof text,
        "key %llu%s (moves: %llu, replicas: %llu, writes in place: %llu, remote accesses: %llu)",
        (unsigned long long)k->event->key, name, (unsigned long long)moves,
        (unsigned long long)replicas, (unsigned long long)writes, (unsigned long long)remote);
    svg_text(p->file, LEFT, y, 11, write_colour, "start", text);
}

static void draw_key(const struct picture *p, const struct key *k, double y)
{
    struct lane lane;
    const struct event *e = k->event, *end = e + k->events;
    say_key(p, k, y + TITLE - 8);
    for (unsigned node = 0; node < p->timeline->nodes; node++) {
        const struct event *from = e;
        while (e < end && e->node == node) e++;
        fill_lane(p, &lane, from, (size_t)(e - from));
        draw_lane(p, &lane, node, y + TITLE + node * (LANE + GAP));
    }
}

/* ---- the picture ---- */

/* All keys, or more than KEYS_MAX. */
static size_t find_keys(const struct timeline *t, struct key *key)
{
    size_t keys = 0;
    for (size_t i = 0; i < t->events; i++) {
        if (i > 0 && t->event[i].key == t->event[i - 1].key) {
            key[keys - 1].events++;
            continue;
        }
        if (keys == KEYS_MAX) return keys + 1;
        key[keys++] = (struct key){&t->event[i], 1};
    }
    qsort(key, keys, sizeof *key, by_events);
    return keys;
}

static void draw_axis(const struct picture *p, double y)
{
    double span = (p->to_us - p->from_us) * 1e-3, raw = span / 6,
           power = pow(10, floor(log10(raw)));
    double every = raw <= power       ? power
                   : raw <= 2 * power ? 2 * power
                   : raw <= 5 * power ? 5 * power
                                      : 10 * power;
    double begin = (p->from_us - (double)p->timeline->first_us) * 1e-3;
    for (long i = lround(ceil(begin / every)); (double)i * every <= begin + span; i++) {
        double ms = (double)i * every, x = LEFT + (ms - begin) / span * WIDTH;
        char text[32];
        snprintf(text, sizeof text, "%.10g ms", ms);
        fprintf(p->file, "<path stroke=\"#000000\" stroke-opacity=\"0.15\" d=\"M%.1f %dV%.0f\"/>\n",
                x, TOP, y + 4);
        svg_text(p->file, x, y + 18, 11, grey, "middle", text);
    }
}

static void draw_legend(FILE *f)
{
    static const struct {
        const char *colour, *text;
    } entries[] = {{owner_colour, "main copy"},      {replica_colour, "replica"},
                   {intent_colour, "active intent"}, {kept_colour, "kept"},
                   {write_colour, "writes here"},    {remote_colour, "went to another node"}};
    double x = LEFT;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        fprintf(f, "<rect x=\"%.0f\" y=\"69\" width=\"12\" height=\"10\" fill=\"%s\"/>\n", x,
                entries[i].colour);
        svg_text(f, x + 16, 78, 11, grey, "start", entries[i].text);
        x += 34 + 6.0 * (double)strlen(entries[i].text);
    }
}

/* From so many milliseconds after the first event on, until so many. False: there is no key, or
 * more than KEYS_MAX, or nothing lies between the two. */
static bool write_picture(struct timeline *t, const char *path, double from_ms, double to_ms)
{
    struct key key[KEYS_MAX] = {0};
    struct saving s;
    char subtitle[160];
    if (t->events > 0) qsort(t->event, t->events, sizeof *t->event, by_lane);
    size_t keys = find_keys(t, key);
    double last_ms = ((double)t->last_us - (double)t->first_us) * 1e-3; /* no times: below 0 */
    if (to_ms > last_ms) to_ms = last_ms;
    if (keys == 0 || keys > KEYS_MAX || from_ms >= to_ms) return false;
    int height = TITLE + (int)t->nodes * (LANE + GAP), all = TOP + (int)keys * height + AXIS;
    snprintf(subtitle, sizeof subtitle, "%u node%s, technique %s, %.10g to %.10g ms", t->nodes,
             plain_s(t->nodes), t->technique, from_ms, to_ms);
    svg_begin(&s, path, LEFT + WIDTH + RIGHT, all, "locus trace", subtitle);
    const struct picture p = {.file = s.file,
                              .timeline = t,
                              .from_us = (double)t->first_us + from_ms * 1e3,
                              .to_us = (double)t->first_us + to_ms * 1e3};
    draw_legend(s.file);
    for (size_t i = 0; i < keys; i++) draw_key(&p, &key[i], TOP + (double)i * height);
    draw_axis(&p, TOP + (double)keys * height);
    svg_end(&s);
    return true;
}

static const char help[] =
    "usage: locus trace FILE... > page.html\n"
    "       locus trace --svg PICTURE [--from MS] [--to MS] FILE...\n"
    "\n"
    "Makes one page of what the nodes of a cluster have traced: for each key where its main copy was, which nodes held\n"
    "replicas, intended to access it, and accessed it, over time. Files are written by nodes that ran with\n"
    "\n"
    "  LOCUS_TRACE=PREFIX        to PREFIX.RANK.jsonl, when they close\n"
    "  LOCUS_TRACE_KEYS=KEYS     keys and ranges, 1,2,7-9, or a sample of so many, sample:100; 16 unless told\n"
    "\n"
    "options:\n"
    "  --svg PICTURE   instead of the page a picture, of 20 keys at most\n"
    "  --from MS       the picture begins so many milliseconds after the first event\n"
    "  --to MS         and ends so many after it\n"
    "\n"
    "for example: LOCUS_TRACE=/var/tmp/run locus run -n 4 -- trainer; locus trace /var/tmp/run.*.jsonl > page.html\n";

static void print_lines(const char *const *line)
{
    for (; *line; line++) puts(*line);
}

/* Is it what the library writes? Then it can stand in a script as it is: no text in it can end
 * one. */
static bool is_object(const char *line, size_t length)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789{}[]\":,._-";
    return length >= 2 && line[0] == '{' && line[length - 1] == '}' &&
           strspn(line, allowed) == length;
}

/* Microseconds since 1970, if there are any: differences of them are numbers, too. */
static bool has_good_time(const char *line)
{
    const char *at = strstr(line, "\"t\":");
    long long us = at ? strtoll(at + strlen("\"t\":"), NULL, 10) : 0;
    return us >= 0 && us <= INT64_C(1) << 53;
}

/* What the first line of a file says, and whether its node closed. */
struct traced_node {
    unsigned node, nodes;
    bool has_ended;
};

struct trace_options {
    const char *picture; /* NULL: the page */
    double from_ms, to_ms;
};

/* What is done with each line, which has no end of line any more. */
typedef void use_line(struct timeline *, const char *line);

static void print_line(struct timeline *none, const char *line)
{
    (void)none;
    printf("%s,\n", line);
}

/* `use` NULL: only looks at the lines. */
static int read_file(const char *path, use_line *use, struct timeline *t, struct traced_node *about)
{
    const char *why;
    FILE *f = regular_stream(path, &why);
    char *line = NULL;
    size_t capacity = 0, number = 0;
    int status = 0;
    *about = (struct traced_node){0};
    if (!f) return say_and(STATUS_FAILED, "cannot read %s: %s", path, why);
    for (ssize_t n; status == 0 && (n = getline(&line, &capacity, f)) > 0;) {
        number++;
        if (line[n - 1] == '\n') line[--n] = '\0';
        bool is_head = number > 1 ||
                       sscanf(line, "{\"node\":%u,\"nodes\":%u,", &about->node, &about->nodes) == 2;
        if (!is_object(line, (size_t)n) || !is_head || !has_good_time(line) ||
            (number == 1 && about->node >= about->nodes))
            status = say_and(STATUS_FAILED, "%s: line %zu is not of a trace", path, number);
        else if (use)
            use(t, line);
        about->has_ended |= strstr(line, "\"end\":") != NULL;
    }
    if (status == 0 && ferror(f)) status = say_and(STATUS_FAILED, "cannot read %s", path);
    if (status == 0 && number == 0)
        status =
            say_and(STATUS_FAILED, "%s is empty: its node has not closed, or was killed", path);
    free(line);
    fclose(f);
    return status;
}

/* LOCUS_REPORT's files may have the same prefix, and come with PREFIX.*.jsonl. */
static bool is_of_report(const char *path)
{
    static const char *const ends[] = {".report.jsonl", ".run.jsonl"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (length >= n && strcmp(path + length - n, ends[i]) == 0) return true;
    }
    return false;
}

/* Returns how many stay. */
static int leave_reports_out(char **path, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!is_of_report(path[i])) path[kept++] = path[i];
    return kept;
}

/* All are of one cluster, of so many nodes: older files may lie about under the same prefix. */
static int check_files(char *const *path, int count, unsigned *nodes)
{
    struct traced_node *about = calloc((size_t)count, sizeof *about);
    int status = 0;
    if (!about) return say_and(STATUS_FAILED, "no memory for %d files", count);
    for (int i = 0; i < count && status == 0; i++) {
        status = read_file(path[i], NULL, NULL, &about[i]);
        if (status == 0 && about[i].nodes != about[0].nodes)
            status = say_and(
                STATUS_FAILED,
                "%s is of a cluster of %u nodes, %s of one of %u: give the files of one run",
                path[i], about[i].nodes, path[0], about[0].nodes);
        for (int j = 0; j < i && status == 0; j++) {
            if (about[j].node == about[i].node)
                status = say_and(STATUS_FAILED,
                                 "%s and %s are both of node %u: give the files of one run",
                                 path[j], path[i], about[i].node);
        }
    }
    *nodes = about[0].nodes;
    free(about);
    return status;
}

static int print_page(char *const *path, int count)
{
    struct traced_node about;
    int status = 0;
    print_lines(page_head);
    for (int i = 0; i < count && status == 0; i++) {
        status = read_file(path[i], print_line, NULL, &about);
        if (status == 0 && !about.has_ended) printf("{\"unended\":%u},\n", about.node);
    }
    print_lines(page_tail);
    if (status == 0 && (ferror(stdout) || fflush(stdout)))
        status = say_and(STATUS_FAILED, "cannot write the page");
    return status;
}

static int draw_picture(const struct trace_options *o, char *const *path, int count, unsigned nodes)
{
    struct traced_node about;
    int status = 0;
    saving_check(&o->picture, 1, (const char *const *)path, (size_t)count);
    struct timeline t = {.nodes = nodes, .first_us = INT64_MAX, .last_us = INT64_MIN};
    for (int i = 0; i < count && status == 0; i++)
        status = read_file(path[i], add_line, &t, &about);
    if (status == 0 && !write_picture(&t, o->picture, o->from_ms, o->to_ms))
        status =
            say_and(STATUS_FAILED,
                    "nothing was traced then, or more than %d keys: name fewer in LOCUS_TRACE_KEYS",
                    KEYS_MAX);
    free(t.event);
    return status;
}

/* Returns the files. */
static char **parse(int argc, char **argv, struct trace_options *o)
{
    const struct args_option options[] = {
        OPTION_TEXT("--svg", "PICTURE", &o->picture, 0, ""),
        OPTION_REAL("--from", "MS", &o->from_ms, 0, 1e15, 0, ""),
        OPTION_REAL("--to", "MS", &o->to_ms, 0, 1e15, 0, ""),
    };
    char **files = argv + argc;
    args_parse(&(struct args_program){.help = help,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .words = &files},
               argc, argv);
    return files;
}

int trace_main(int argc, char **argv)
{
    struct trace_options o = {.to_ms = HUGE_VAL};
    unsigned nodes = 0;
    say_as("locus trace");
    fail_set_program("locus trace");
    char **file = parse(argc, argv, &o);
    if (file == argv + argc)
        return say_and(STATUS_USAGE,
                       "which files? They are named by LOCUS_TRACE; locus trace --help");
    if (!o.picture && (o.from_ms > 0 || o.to_ms < HUGE_VAL))
        return say_and(STATUS_USAGE, "--from and --to are for --svg: the page shows all");
    int count = leave_reports_out(file, (int)(argv + argc - file));
    if (count == 0)
        return say_and(STATUS_USAGE, "these are files of a report: locus report PREFIX shows them");
    int status = check_files(file, count, &nodes);
    if (status) return status;
    return o.picture ? draw_picture(&o, file, count, nodes) : print_page(file, count);
}
