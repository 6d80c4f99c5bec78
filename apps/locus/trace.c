#include "trace.h"

#include "page.h"
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: locus trace FILE... > page.html\n"
    "\n"
    "Makes one page of what the nodes of a cluster have traced: for each key where its main copy was, which nodes held\n"
    "replicas, intended to access it, and accessed it, over time. Files are written by nodes that ran with\n"
    "\n"
    "  LOCUS_TRACE=PREFIX        to PREFIX.RANK.jsonl, when they close\n"
    "  LOCUS_TRACE_KEYS=KEYS     keys and ranges, 1,2,7-9, or a sample of so many, sample:100; 16 unless told\n"
    "\n"
    "for example: LOCUS_TRACE=/var/tmp/run locus run -n 4 -- trainer; locus trace /var/tmp/run.*.jsonl > page.html\n";

static int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("locus trace: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

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

/* Prints the lines, or only looks at them. */
static int read_file(const char *path, bool prints, struct traced_node *about)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;
    int status = 0;
    *about = (struct traced_node){0};
    if (!f) return fail(STATUS_FAILED, "cannot read %s: %s", path, strerror(errno));
    for (ssize_t n; status == 0 && (n = getline(&line, &room, f)) > 0;) {
        number++;
        if (line[n - 1] == '\n') line[--n] = '\0';
        bool is_head = number > 1 ||
                       sscanf(line, "{\"node\":%u,\"nodes\":%u,", &about->node, &about->nodes) == 2;
        if (!is_object(line, (size_t)n) || !is_head || (number == 1 && about->node >= about->nodes))
            status = fail(STATUS_FAILED, "%s: line %zu is not of a trace", path, number);
        else if (prints)
            printf("%s,\n", line);
        about->has_ended |= strstr(line, "\"end\":") != NULL;
    }
    if (status == 0 && ferror(f)) status = fail(STATUS_FAILED, "cannot read %s", path);
    if (status == 0 && number == 0)
        status = fail(STATUS_FAILED, "%s is empty: its node has not closed, or was killed", path);
    free(line);
    fclose(f);
    return status;
}

/* All are of one cluster: older files may lie about under the same prefix. */
static int check_files(char *const *path, int count)
{
    struct traced_node *about = calloc((size_t)count, sizeof *about);
    int status = 0;
    if (!about) return fail(STATUS_FAILED, "no memory for %d files", count);
    for (int i = 0; i < count && status == 0; i++) {
        status = read_file(path[i], false, &about[i]);
        if (status == 0 && about[i].nodes != about[0].nodes)
            status =
                fail(STATUS_FAILED,
                     "%s is of a cluster of %u nodes, %s of one of %u: give the files of one run",
                     path[i], about[i].nodes, path[0], about[0].nodes);
        for (int j = 0; j < i && status == 0; j++) {
            if (about[j].node == about[i].node)
                status = fail(STATUS_FAILED,
                              "%s and %s are both of node %u: give the files of one run", path[j],
                              path[i], about[i].node);
        }
    }
    free(about);
    return status;
}

static int print_page(char *const *path, int count)
{
    struct traced_node about;
    int status = 0;
    print_lines(page_head);
    for (int i = 0; i < count && status == 0; i++) {
        status = read_file(path[i], true, &about);
        if (status == 0 && !about.has_ended) printf("{\"unended\":%u},\n", about.node);
    }
    print_lines(page_tail);
    if (status == 0 && (ferror(stdout) || fflush(stdout)))
        status = fail(STATUS_FAILED, "cannot write the page");
    return status;
}

int trace_main(int argc, char **argv)
{
    if (argc < 2)
        return fail(STATUS_USAGE, "which files? They are named by LOCUS_TRACE; locus trace --help");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return fflush(stdout) ? STATUS_FAILED : 0;
    }
    int from = strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (from == 1 && argv[1][0] == '-')
        return fail(STATUS_USAGE, "there is no option %s; locus trace --help", argv[1]);
    if (argc == from) return fail(STATUS_USAGE, "which files? locus trace --help");
    int status = check_files(argv + from, argc - from);
    return status ? status : print_page(argv + from, argc - from);
}
