#include "commands.h"

#include "args.h"
#include "fail.h"
#include "regular.h"
#include "say.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES_MAX = 16, NAME_BYTES = 32 };
enum { COUNTS_US = 1000 }; /* accesses are summed over that */

/* Where the key is from now on, what was done until now, or how many workers wait from now on. */
struct event {
    enum { EVENT_PLACE, EVENT_COUNTS, EVENT_WAITS } kind;
    uint64_t key; /* or the shard that sees them wait */
    long long us;
    size_t number; /* among those of the same moment */
    unsigned node, intends, writes, pulls, pushes, waiting;
    char place;
};

struct timeline {
    unsigned nodes;
    struct event *event;
    size_t events, capacity;
    long long first_us, last_us, lost;
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

/* False: it is none that is shown. */
static bool read_event(struct event *e, const char *line)
{
    unsigned long long key;
    int n = sscanf(line, "{\"n\":%u,\"t\":%lld,\"k\":%llu,\"s\":\"%c\",\"i\":%u}", &e->node, &e->us,
                   &key, &e->place, &e->intends);
    if (n == 3) {
        const char *at = strstr(line, "\"w\":");
        e->kind = EVENT_COUNTS;
        n = at ? sscanf(at, "\"w\":%u,\"p\":%u,\"q\":%u}", &e->writes, &e->pulls, &e->pushes) : 0;
    } else if (n == 2) {
        const char *at = strstr(line, "\"h\":");
        e->kind = EVENT_WAITS;
        n = at ? sscanf(at, "\"h\":%llu,\"b\":%u}", &key, &e->waiting) + 1 : 0;
    } else if (n == 5) {
        n = 3;
    }
    e->key = n == 3 ? key : 0;
    return n == 3;
}

/* Lines of other nodes than those are passed over. */
static void add_line(struct timeline *t, const char *line)
{
    struct event e = {0};
    const char *at = strstr(line, "\"t\":");
    long long us = at ? strtoll(at + strlen("\"t\":"), NULL, 10) : 0;
    if (!at) read_head(t, line);
    if (at && us < t->first_us) t->first_us = us;
    if (at && us > t->last_us) t->last_us = us;
    at = strstr(line, "\"lost\":");
    if (at) t->lost += strtoll(at + strlen("\"lost\":"), NULL, 10);
    if (!read_event(&e, line) || e.node >= t->nodes) return;
    t->event = make_room(t->event, t->events, &t->capacity, sizeof e, "events");
    e.number = t->events;
    t->event[t->events++] = e;
}

#define DIFFERENT(x, y) \
    if ((x) != (y)) return (x) < (y) ? -1 : 1

/* Waits behind all keys; of a key its nodes, one after another; of a node places and counts. */
static int by_lane(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    DIFFERENT(x->kind == EVENT_WAITS, y->kind == EVENT_WAITS);
    DIFFERENT(x->key, y->key);
    DIFFERENT(x->node, y->node);
    DIFFERENT(x->kind, y->kind);
    DIFFERENT(x->us, y->us);
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- Chrome trace events: a process for each key, in which each node has threads ---- */

enum { WAITS = 1, FIRST_KEY }; /* processes; keys have those from then on */
enum { SHARDS_MAX = 64 };

/* All texts have letters that JSON takes as they are: is_object(). */
static void put(const struct timeline *t, char kind, size_t process, unsigned thread, long long us)
{
    printf(",\n{\"ph\":\"%c\",\"pid\":%zu,\"tid\":%u,\"ts\":%lld,", kind, process, thread,
           us - t->first_us);
}

static void put_thread(size_t process, unsigned thread, const char *format, unsigned node,
                       unsigned shard)
{
    char name[64];
    snprintf(name, sizeof name, format, node, shard);
    printf(",\n{\"ph\":\"M\",\"pid\":%zu,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":"
           "\"%s\"}}",
           process, thread, name);
}

static void put_key(const struct timeline *t, size_t process, const struct event *e)
{
    unsigned table = 0;
    while (table < t->tables && t->table[table].first <= e->key) table++;
    printf(",\n{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_name\",\"args\":{\"name\":\"key %llu",
           process, (unsigned long long)e->key);
    if (table > 0)
        printf(", %s row %llu", t->table[table - 1].name,
               (unsigned long long)(e->key - t->table[table - 1].first));
    fputs("\"}}", stdout);
    for (unsigned node = 0; node < t->nodes; node++) {
        put_thread(process, 1 + 2 * node, "node %u", node, 0);
        put_thread(process, 2 + 2 * node, "node %u, intents", node, 0);
    }
}

static const char *place_of(const struct event *e)
{
    return e->place == 'O' ? "main copy" : e->place == 'r' ? "replica" : NULL;
}

static const char *intent_of(const struct event *e)
{
    return e->intends == 1 ? "intent" : e->intends == 2 ? "kept" : NULL;
}

static const char *wait_of(const struct event *e)
{
    return e->waiting > 0 ? "waits for clocks" : NULL;
}

/* A slice for as long as it is called the same. */
static void put_slices(const struct timeline *t, size_t process, unsigned thread,
                       const struct event *e, size_t count, const char *(*of)(const struct event *))
{
    for (size_t i = 0, end; i < count; i = end) {
        const char *name = of(&e[i]);
        for (end = i + 1; end < count && of(&e[end]) == name;) end++;
        if (!name) continue;
        put(t, 'X', process, thread, e[i].us);
        printf("\"dur\":%lld,\"name\":\"%s\"}", (end < count ? e[end].us : t->last_us) - e[i].us,
               name);
    }
}

/* What was done between two moments. */
static void put_counts(const struct timeline *t, size_t process, const struct event *e,
                       size_t count)
{
    long long before = t->first_us;
    for (size_t i = 0; i < count; before = e[i++].us) {
        long long since = e[i].us - COUNTS_US < before ? before : e[i].us - COUNTS_US;
        bool is_writes = e[i].writes > 0, is_remote = e[i].pulls + e[i].pushes > 0;
        for (int is_over = 0; is_over < 2; is_over++) {
            long long us = is_over ? e[i].us : since;
            if (is_writes) put(t, 'C', process, 0, us);
            if (is_writes)
                printf("\"name\":\"node %u, changes here\",\"args\":{\"changes\":%u}}", e->node,
                       is_over ? 0 : e[i].writes);
            if (is_remote) put(t, 'C', process, 0, us);
            if (is_remote)
                printf(
                    "\"name\":\"node %u, at other nodes\",\"args\":{\"pulls\":%u,\"pushes\":%u}}",
                    e->node, is_over ? 0 : e[i].pulls, is_over ? 0 : e[i].pushes);
        }
    }
}

static void put_lane(const struct timeline *t, size_t process, const struct event *e, size_t count)
{
    unsigned thread = 1 + e->node * SHARDS_MAX + (unsigned)e->key;
    if (e->kind == EVENT_PLACE) {
        put_slices(t, process, 1 + 2 * e->node, e, count, place_of);
        put_slices(t, process, 2 + 2 * e->node, e, count, intent_of);
    } else if (e->kind == EVENT_COUNTS) {
        put_counts(t, process, e, count);
    } else {
        put_thread(WAITS, thread, "node %u, shard %u", e->node, (unsigned)e->key);
        put_slices(t, WAITS, thread, e, count, wait_of);
    }
}

static bool is_of_key(const struct event *a, const struct event *b)
{
    return a->key == b->key && (a->kind == EVENT_WAITS) == (b->kind == EVENT_WAITS);
}

static void put_trace(struct timeline *t)
{
    size_t process = FIRST_KEY - 1;
    if (t->events > 0) qsort(t->event, t->events, sizeof *t->event, by_lane);
    printf("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"nodes\":%u,\"technique\":\"%s\",\"lost\":"
           "%lld},\n\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":"
           "{\"name\":\"workers\"}}",
           t->nodes, t->technique, t->lost, WAITS);
    for (size_t i = 0, end; i < t->events; i = end) {
        const struct event *e = &t->event[i];
        if (e->kind != EVENT_WAITS && (i == 0 || !is_of_key(&e[-1], e))) put_key(t, ++process, e);
        for (end = i + 1; end < t->events; end++)
            if (!is_of_key(&t->event[end], e) || t->event[end].node != e->node ||
                t->event[end].kind != e->kind)
                break;
        put_lane(t, process, e, end - i);
    }
    fputs("\n]}\n", stdout);
}

/* ---- files ---- */

static const char help[] =
    "usage: locus trace FILE... > trace.json\n"
    "\n"
    "Prints what the nodes of a cluster have traced as Chrome trace events, which https://ui.perfetto.dev and\n"
    "https://www.speedscope.app show: for each key where its main copy was, which nodes held replicas, intended to access\n"
    "it, and accessed it, over time. Files are written by nodes that ran with\n"
    "\n"
    "  LOCUS_TRACE=PREFIX        to PREFIX.RANK.jsonl, when they close\n"
    "  LOCUS_TRACE_KEYS=KEYS     keys and ranges, 1,2,7-9, or a sample of so many, sample:100; 16 unless told\n"
    "\n"
    "for example: LOCUS_TRACE=/var/tmp/run locus run -n 4 -- trainer; locus trace /var/tmp/run.*.jsonl > trace.json\n";

/* Is it what the library writes? Then its texts can stand in JSON as they are. */
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

static int read_line(struct timeline *t, struct traced_node *about, char *line, size_t length,
                     bool is_first)
{
    if (line[length - 1] == '\n') line[--length] = '\0';
    bool is_head = !is_first ||
                   sscanf(line, "{\"node\":%u,\"nodes\":%u,", &about->node, &about->nodes) == 2;
    if (!is_object(line, length) || !is_head || !has_good_time(line) || about->node >= about->nodes)
        return -1;
    if (!t->nodes) t->nodes = about->nodes;
    add_line(t, line);
    about->has_ended |= strstr(line, "\"end\":") != NULL;
    return 0;
}

static int read_file(const char *path, struct timeline *t, struct traced_node *about)
{
    const char *why;
    FILE *f = regular_stream(path, &why);
    char *line = NULL;
    size_t capacity = 0, number = 0;
    int status = 0;
    if (!f) return say_and(STATUS_FAILED, "cannot read %s: %s", path, why);
    for (ssize_t n; status == 0 && (n = getline(&line, &capacity, f)) > 0;)
        if (read_line(t, about, line, (size_t)n, ++number == 1))
            status = say_and(STATUS_FAILED, "%s: line %zu is not of a trace", path, number);
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
static int read_files(struct timeline *t, char *const *path, int count)
{
    struct traced_node *about = take_memory((size_t)count, sizeof *about);
    int status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        status = read_file(path[i], t, &about[i]);
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
    for (int i = 0; i < count && status == 0; i++)
        if (!about[i].has_ended)
            say("node %u did not close: it was killed, or ended without locus_close; what it "
                "traced is not here",
                about[i].node);
    free(about);
    return status;
}

int trace_main(int argc, char **argv)
{
    struct timeline t = {.first_us = INT64_MAX, .last_us = INT64_MIN};
    char **file = argv + argc;
    say_as("locus trace");
    fail_set_program("locus trace");
    args_parse(&(struct args_program){.help = help, .words = &file}, argc, argv);
    if (file == argv + argc)
        return say_and(STATUS_USAGE,
                       "which files? They are named by LOCUS_TRACE; locus trace --help");
    int count = leave_reports_out(file, (int)(argv + argc - file));
    if (count == 0)
        return say_and(STATUS_USAGE, "these are files of a report: locus report PREFIX shows them");
    int status = read_files(&t, file, count);
    if (status == 0) {
        if ((unsigned)count < t.nodes)
            say("files of %u of %u nodes are not among those given", t.nodes - (unsigned)count,
                t.nodes);
        if (t.lost > 0)
            say("%lld events did not fit: what is shown ends early; trace fewer keys", t.lost);
        put_trace(&t);
        if (ferror(stdout) || fflush(stdout))
            status = say_and(STATUS_FAILED, "cannot write the trace");
    }
    free(t.event);
    return status;
}
