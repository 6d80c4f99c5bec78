/*
 * plain.c - runs tests without any library.
 *
 *     runner                    all tests, each in a process of its own
 *     runner TEXT...            those whose suite/name contains one of the texts, and none of those
 *                               written -TEXT
 *     runner --run SUITE/NAME   one test in this process, for a debugger
 *     runner --list
 *
 * A test's process is this program executed anew: what a library keeps from before a fork (nng
 * aborts then) is not there. Its output is shown when it fails. Its exit status says the rest: 77
 * is a skip, whose reason is the last line.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, NAME_MAX_BYTES = 256, REASON_MAX_BYTES = 256 };
enum outcome { PASSED, FAILED, SKIPPED, OUTCOMES };

struct result {
    enum outcome outcome;
    char reason[REASON_MAX_BYTES]; /* why it failed or was skipped */
};

static struct test *tests;
static size_t test_count;

void test_register(struct test *t)
{
    t->next = tests;
    tests = t;
    test_count++;
}

void test_skip(const char *reason)
{
    printf("%s\n", reason);
    exit(EXIT_SKIPPED);
}

static const char *full_name(const struct test *t, char name[NAME_MAX_BYTES])
{
    snprintf(name, NAME_MAX_BYTES, "%s/%s", t->suite, t->name);
    return name;
}

static int by_name(const void *left, const void *right)
{
    const struct test *a = *(struct test *const *)left, *b = *(struct test *const *)right;
    int suites = strcmp(a->suite, b->suite);
    return suites ? suites : strcmp(a->name, b->name);
}

/* All tests in the order of their names: the order of registration is the linker's. */
static struct test **sorted_tests(void)
{
    struct test **all = calloc(test_count + 1, sizeof *all);
    if (!all) abort();
    size_t n = 0;
    for (struct test *t = tests; t; t = t->next) all[n++] = t;
    qsort(all, n, sizeof *all, by_name);
    return all;
}

static bool is_chosen(const struct test *t, char **texts, int count)
{
    char name[NAME_MAX_BYTES];
    bool wants_some = false, is_wanted = false;
    full_name(t, name);
    for (int i = 0; i < count; i++) {
        if (texts[i][0] == '-') {
            if (strstr(name, texts[i] + 1)) return false;
            continue;
        }
        wants_some = true;
        is_wanted |= strstr(name, texts[i]) != NULL;
    }
    return is_wanted || !wants_some;
}

/* ---- a test's process ---- */

static int run_here(const char *wanted)
{
    char name[NAME_MAX_BYTES];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (struct test *t = tests; t; t = t->next)
        if (strcmp(full_name(t, name), wanted) == 0) {
            t->body();
            return 0;
        }
    fprintf(stderr, "there is no test %s\n", wanted);
    return 2;
}

/* Starts `t` in a process group of its own, so that whatever it leaves behind can be ended with
 * it. */
static int spawn(const struct test *t, int output, pid_t *child)
{
    char name[NAME_MAX_BYTES], run[] = "--run", self[] = "/proc/self/exe";
    char *arguments[] = {self, run, name, NULL};
    full_name(t, name);

    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);

    int rc = posix_spawn(child, self, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* False when the child still runs after `limit_s`. SIGCHLD is blocked, so none is missed between
 * the two calls. */
static bool await(pid_t child, int limit_s, int *status)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    double end = now_s() + limit_s;
    while (waitpid(child, status, WNOHANG) == 0) {
        double left = end - now_s();
        if (left <= 0) return false;
        struct timespec wait = {.tv_sec = (time_t)left,
                                .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        sigtimedwait(&ended, NULL, &wait);
    }
    return true;
}

static void show_output(int output)
{
    char block[4096];
    ssize_t n;
    fflush(stdout);
    lseek(output, 0, SEEK_SET);
    while ((n = read(output, block, sizeof block)) > 0)
        if (write(STDOUT_FILENO, block, (size_t)n) != n) return;
}

/* The last line of what the test printed. */
static void last_line(int output, char line[REASON_MAX_BYTES])
{
    off_t size = lseek(output, 0, SEEK_END);
    off_t from = size > REASON_MAX_BYTES - 1 ? size - (REASON_MAX_BYTES - 1) : 0;
    ssize_t n = pread(output, line, (size_t)(size - from), from);
    line[n > 0 ? n : 0] = '\0';
    char *end = strrchr(line, '\n');
    if (end) *end = '\0';
    char *before = strrchr(line, '\n');
    if (before) memmove(line, before + 1, strlen(before + 1) + 1);
}

static struct result judge(int status, int output)
{
    struct result r = {.outcome = FAILED};
    if (WIFSIGNALED(status)) {
        snprintf(r.reason, sizeof r.reason, "signal %d, %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) == 0) {
        r.outcome = PASSED;
    } else if (WEXITSTATUS(status) == EXIT_SKIPPED) {
        r.outcome = SKIPPED;
        last_line(output, r.reason);
    } else {
        snprintf(r.reason, sizeof r.reason, "exit status %d", WEXITSTATUS(status));
    }
    return r;
}

static struct result run_apart(const struct test *t, int output)
{
    struct result r = {.outcome = FAILED};
    pid_t child;
    int status, rc = spawn(t, output, &child);
    if (rc != 0) {
        snprintf(r.reason, sizeof r.reason, "its process did not start: %s", strerror(rc));
        return r;
    }
    int limit_s = t->limit_s + 2 * test_seconds();
    bool ended = await(child, limit_s, &status);
    kill(-child, SIGKILL);
    if (ended) return judge(status, output);
    waitpid(child, &status, 0);
    snprintf(r.reason, sizeof r.reason, "not done after %d s", limit_s);
    return r;
}

static struct result run_and_report(const struct test *t)
{
    static const char *const words[OUTCOMES] = {"ok", "FAILED", "skipped"};
    char name[NAME_MAX_BYTES];
    double start = now_s();
    int output = memfd_create("output", MFD_CLOEXEC);
    struct result r = run_apart(t, output);
    double seconds = now_s() - start;

    if (r.outcome == FAILED) show_output(output);
    close(output);
    printf("%-7s %s", words[r.outcome], full_name(t, name));
    if (r.outcome == FAILED) printf(" (%s)", r.reason);
    if (seconds >= 1) printf(" [%.1f s]", seconds);
    putchar('\n');
    fflush(stdout);
    return r;
}

static int run_all(char **texts, int count)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);

    struct test **all = sorted_tests();
    struct result *results = calloc(test_count + 1, sizeof *results);
    if (!results) abort();
    size_t n = 0, sums[OUTCOMES] = {0};
    for (size_t i = 0; i < test_count; i++) {
        if (!is_chosen(all[i], texts, count)) continue;
        all[n] = all[i];
        results[n] = run_and_report(all[n]);
        sums[results[n].outcome]++;
        n++;
    }

    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < n; i++)
        if (results[i].outcome == SKIPPED)
            printf("skipped: %s: %s\n", full_name(all[i], name), results[i].reason);
    for (size_t i = 0; i < n; i++)
        if (results[i].outcome == FAILED)
            printf("failed: %s: %s\n", full_name(all[i], name), results[i].reason);
    if (n == 0) printf("no test was chosen\n");
    printf("%zu passed, %zu failed, %zu skipped\n", sums[PASSED], sums[FAILED], sums[SKIPPED]);
    free(all);
    free(results);
    return n == 0 || sums[FAILED] > 0;
}

static int list(void)
{
    char name[NAME_MAX_BYTES];
    struct test **all = sorted_tests();
    for (size_t i = 0; i < test_count; i++) printf("%s\n", full_name(all[i], name));
    free(all);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--run") == 0) return run_here(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
    return run_all(argv + 1, argc - 1);
}
