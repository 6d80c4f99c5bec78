#include "run_log.h"

#include "args.h"
#include "fail.h"
#include "json.h"
#include "run_page.h"
#include "saving.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *page;      /* NULL: none */
    char prefix[PATH_MAX]; /* "": nobody wants anything */
    bool is_ours;          /* the parts: nobody else asked for them */
    FILE *file;            /* NULL: closed, or not rank 0 */
} log_of_run;

void run_log_place(const char *page, bool has_nodes)
{
    const char *told = getenv("LOCUS_REPORT");
    log_of_run.page = page;
    log_of_run.is_ours = !told || !*told;
    if (log_of_run.is_ours && !page) return;
    int n = log_of_run.is_ours
                ? snprintf(log_of_run.prefix, sizeof log_of_run.prefix, "%s.parts", page)
                : snprintf(log_of_run.prefix, sizeof log_of_run.prefix, "%s", told);
    if (n < 0 || (size_t)n >= sizeof log_of_run.prefix)
        fail_usage("--report is longer than a path can be");
    if (log_of_run.is_ours && has_nodes && setenv("LOCUS_REPORT", log_of_run.prefix, 1))
        fail("no memory for the environment");
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void path_of(char path[PATH_MAX + 64], const char *part)
{
    snprintf(path, PATH_MAX + 64, "%s.%s.jsonl", log_of_run.prefix, part);
}

static void mark(const char *name, const char *value)
{
    const struct json_style style = {name, ",", ":", 15};
    struct json j;
    json_begin_in(&j, &style, log_of_run.file, value);
    json_count(&j, "t", now_us());
    json_end(&j);
}

static void add_setting(void *unused, const char *name, const char *value)
{
    static const struct json_style style = {"setting", ",", ":", 15};
    struct json j;
    (void)unused;
    json_begin_in(&j, &style, log_of_run.file, name);
    json_text(&j, "value", value);
    json_end(&j);
}

static bool remove_part(unsigned rank)
{
    char path[PATH_MAX + 64], part[32];
    snprintf(part, sizeof part, "%u.report", rank);
    path_of(path, part);
    return unlink(path) == 0;
}

/* Rank 0, or where that was lost the next one. */
static void tell_of_parts(int rank)
{
    static char line[3 * PATH_MAX];
    if (!log_of_run.page || rank > 1) return;
    snprintf(line, sizeof line,
             "%s: %s is missing; of its parts it is made by: locus report %s > %s\n",
             fail_program(), log_of_run.page, log_of_run.prefix, log_of_run.page);
    fail_adds(line, rank == 0 ? NULL : "node 0 (");
}

void run_log_open(int rank, int size, unsigned long restarts)
{
    char path[PATH_MAX + 64], again[64];
    if (!*log_of_run.prefix) return;
    tell_of_parts(rank);
    if (rank > 0) return;
    path_of(path, "run");
    log_of_run.file = fopen(path, "we");
    if (!log_of_run.file) fail("%s: %s", path, strerror(errno));
    mark("program", fail_program());
    snprintf(again, sizeof again, "%lu: curves begin with the last", restarts);
    if (restarts > 0) add_setting(NULL, "restarts", again);
    args_each(add_setting, NULL);
    if (!log_of_run.is_ours) return;
    for (unsigned gone = (unsigned)size; remove_part(gone);) gone++; /* of more nodes, before */
}

void run_log_point(const char *curve, double y)
{
    static const struct json_style style = {"curve", ",", ":", 15};
    struct json j;
    if (!log_of_run.file) return;
    json_begin_in(&j, &style, log_of_run.file, curve);
    json_count(&j, "t", now_us());
    json_number(&j, "y", y);
    json_end(&j);
}

static void remove_parts(unsigned nodes)
{
    char path[PATH_MAX + 64];
    path_of(path, "run");
    unlink(path);
    for (unsigned rank = 0; rank < nodes; rank++) remove_part(rank);
}

static void make_page(void)
{
    struct run_parts parts;
    struct saving s;
    char why[RUN_TEXT_MAX];
    if (!run_parts_read(&parts, log_of_run.prefix, why)) fail("--report: %s", why);
    saving_open(&s, log_of_run.page);
    run_page_put(&parts, s.file);
    saving_close(&s);
    if (log_of_run.is_ours) remove_parts(parts.nodes);
    run_parts_free(&parts);
}

void run_log_close(void)
{
    if (!log_of_run.file) return;
    mark("ended", "in order");
    fclose(log_of_run.file);
    log_of_run.file = NULL;
    if (log_of_run.page) make_page();
    fail_adds(NULL, NULL);
}
