#include "trace.h"

#include "args.h"
#include "fail.h"
#include "page.h"
#include "regular.h"
#include "saving.h"
#include "say.h"
#include "timeline.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (!is_object(line, (size_t)n) || !is_head || (number == 1 && about->node >= about->nodes))
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
    struct timeline *t = timeline_new(nodes);
    for (int i = 0; i < count && status == 0; i++)
        status = read_file(path[i], timeline_add, t, &about);
    if (status == 0 && !timeline_write(t, o->picture, o->from_ms, o->to_ms))
        status =
            say_and(STATUS_FAILED,
                    "nothing was traced then, or more than %d keys: name fewer in LOCUS_TRACE_KEYS",
                    TIMELINE_KEYS_MAX);
    timeline_free(t);
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
