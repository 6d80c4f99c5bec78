#include "timeline.h"

#include "fail.h"
#include "plain.h"
#include "svg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct timeline *timeline_new(unsigned nodes)
{
    struct timeline *t = take_memory(1, sizeof *t);
    *t = (struct timeline){.nodes = nodes, .first_us = INT64_MAX, .last_us = INT64_MIN};
    return t;
}

void timeline_free(struct timeline *t)
{
    if (t) free(t->event);
    free(t);
}

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
    if (t->events == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 1024;
        struct event *longer = realloc(t->event, t->capacity * sizeof *longer);
        if (!longer) fail("%zu events find no memory", t->capacity);
        t->event = longer;
    }
    e.number = t->events;
    t->event[t->events++] = e;
}

void timeline_add(struct timeline *t, const char *line)
{
    struct event e = {0};
    unsigned long long key;
    unsigned pulls, pushes;
    const char *at = strstr(line, "\"t\":");
    long long us = at ? atoll(at + strlen("\"t\":")) : 0;
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

/* All keys, or more than TIMELINE_KEYS_MAX. */
static size_t find_keys(const struct timeline *t, struct key *key)
{
    size_t keys = 0;
    for (size_t i = 0; i < t->events; i++) {
        if (i > 0 && t->event[i].key == t->event[i - 1].key) {
            key[keys - 1].events++;
            continue;
        }
        if (keys == TIMELINE_KEYS_MAX) return keys + 1;
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

bool timeline_write(struct timeline *t, const char *path, double from_ms, double to_ms)
{
    struct key key[TIMELINE_KEYS_MAX] = {0};
    struct saving s;
    char subtitle[160];
    if (t->events > 0) qsort(t->event, t->events, sizeof *t->event, by_lane);
    size_t keys = find_keys(t, key);
    double last_ms = (double)(t->last_us - t->first_us) * 1e-3;
    if (to_ms > last_ms) to_ms = last_ms;
    if (keys == 0 || keys > TIMELINE_KEYS_MAX || from_ms >= to_ms) return false;
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
