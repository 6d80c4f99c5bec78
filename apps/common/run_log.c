#include "run_log.h"

#include "args.h"
#include "fail.h"
#include "json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *page;      /* NULL: none */
    char prefix[PATH_MAX]; /* "": nobody wants anything */
    FILE *file;            /* NULL: closed, or not rank 0 */
} log_of_run;

void run_log_place(const char *page, bool has_nodes)
{
    const char *told = getenv("LOCUS_REPORT");
    log_of_run.page = page;
    bool is_ours = !told || !*told;
    if (is_ours && !page) return;
    int n = is_ours ? snprintf(log_of_run.prefix, sizeof log_of_run.prefix, "%s.parts", page)
                    : snprintf(log_of_run.prefix, sizeof log_of_run.prefix, "%s", told);
    if (n < 0 || (size_t)n >= sizeof log_of_run.prefix)
        fail_usage("--report is longer than a path can be");
    if (is_ours && has_nodes && setenv("LOCUS_REPORT", log_of_run.prefix, 1))
        fail("no memory for the environment");
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* `nodes` below 0: that is not said. */
static void mark(const char *name, const char *value, int nodes)
{
    const struct json_style style = {name, ",", ":", 15};
    struct json j;
    json_begin_in(&j, &style, log_of_run.file, value);
    json_count(&j, "t", now_us());
    if (nodes >= 0) json_count(&j, "nodes", (uint64_t)nodes);
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

/* Rank 0, or where that was lost the next one. */
static void tell_of_parts(int rank)
{
    static char line[3 * PATH_MAX];
    if (!log_of_run.page || rank > 1) return;
    snprintf(line, sizeof line,
             "%s: %s was not written; locus report %s --out %s makes it, as far as the run came\n",
             fail_program(), log_of_run.page, log_of_run.prefix, log_of_run.page);
    fail_adds(line, rank == 0 ? NULL : "node 0 (");
}

void run_log_open(int rank, int size, unsigned long restarts)
{
    char path[PATH_MAX + 64], again[64];
    if (!*log_of_run.prefix) return;
    tell_of_parts(rank);
    if (rank > 0) return;
    snprintf(path, sizeof path, "%s.run.jsonl", log_of_run.prefix);
    log_of_run.file = fopen(path, "we");
    if (!log_of_run.file) fail("%s: %s", path, strerror(errno));
    mark("program", fail_program(), size);
    snprintf(again, sizeof again, "%lu: curves begin with the last", restarts);
    if (restarts > 0) add_setting(NULL, "restarts", again);
    args_each(0, add_setting, NULL);
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

/* Becomes the command in Python: that beside this program, else that of PATH. */
static _Noreturn void become_report(void)
{
    static char name[] = "locus-report", out[] = "--out";
    char path[PATH_MAX], page[PATH_MAX];
    char *const words[] = {name, log_of_run.prefix, out, page, NULL};
    snprintf(page, sizeof page, "%s", log_of_run.page);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    while (n > 0 && path[n - 1] != '/') n--;
    if (n > 0) {
        memcpy(path + n, name, sizeof name);
        execv(path, words);
    }
    execvp(name, words);
    _exit(127);
}

/* Without a page the run is as good, and its parts are there. */
static void make_page(void)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) become_report();
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0)
        fprintf(
            stderr, "%s: --report: %s; locus report %s --out %s makes it\n", fail_program(),
            WIFEXITED(status) && WEXITSTATUS(status) == 127
                ? "there is no locus-report here to make the page (it comes with the Python package)"
                : "the page was not made",
            log_of_run.prefix, log_of_run.page);
}

void run_log_close(void)
{
    if (!log_of_run.file) return;
    mark("ended", "in order", -1);
    fclose(log_of_run.file);
    log_of_run.file = NULL;
    if (log_of_run.page) make_page();
    fail_adds(NULL, NULL);
}
