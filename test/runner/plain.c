/*
 * plain.c - runs tests without any library.
 *
 *     runner                    all tests, each in a process of its own, TESTS_AT_ONCE side by side
 *                               (1 if the environment does not say)
 *     runner TEXT...            those whose suite/name contains one of the texts, and none of those
 *                               written -TEXT
 *     runner --run SUITE/NAME   one test in this process, for a debugger
 *     runner --list
 *
 * A test's process is forked from this one, which has used no library and has no other thread: nng
 * aborts where it was used before a fork. To execute the program anew would cost 60 ms a test under
 * AddressSanitizer. Its output is shown when it fails. Its exit status says the rest: 77 is a skip,
 * whose reason is the last line.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

static _Noreturn void run_body(const struct test *t)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    t->body();
    exit(0);
}

static int run_here(const char *wanted)
{
    char name[NAME_MAX_BYTES];
    for (struct test *t = tests; t; t = t->next)
        if (strcmp(full_name(t, name), wanted) == 0) run_body(t);
    fprintf(stderr, "there is no test %s\n", wanted);
    return 2;
}

/* Starts `t` in a process group of its own, so that whatever it leaves behind can be ended with
 * it. -1, with errno, if it cannot. */
static pid_t start_process(const struct test *t, int output)
{
    fflush(stdout);
    pid_t child = fork();
    if (child > 0) setpgid(child, child); /* whoever is first */
    if (child != 0) return child;
    setpgid(0, 0);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the outputs of other tests */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    run_body(t);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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

/* ---- tests side by side ---- */

struct running {
    const struct test *test; /* NULL: this place is free */
    struct result *result;
    pid_t child;
    int output;
    double start_s, end_s; /* when it began, and when its time is over */
};

static void report(const struct running *r)
{
    static const char *const words[OUTCOMES] = {"ok", "FAILED", "skipped"};
    char name[NAME_MAX_BYTES];
    double seconds = now_s() - r->start_s;
    if (r->result->outcome == FAILED) show_output(r->output);
    printf("%-7s %s", words[r->result->outcome], full_name(r->test, name));
    if (r->result->outcome == FAILED) printf(" (%s)", r->result->reason);
    if (seconds >= 1) printf(" [%.1f s]", seconds);
    putchar('\n');
    fflush(stdout);
}

static void finish(struct running *r, struct result result)
{
    *r->result = result;
    report(r);
    close(r->output);
    r->test = NULL;
}

static int limit_of(const struct test *t)
{
    return t->limit_s + 2 * test_seconds();
}

static void start(struct running *r, const struct test *t, struct result *result)
{
    struct result unstarted = {.outcome = FAILED};
    double now = now_s();
    *r = (struct running){.test = t,
                          .result = result,
                          .output = memfd_create("output", MFD_CLOEXEC),
                          .start_s = now,
                          .end_s = now + limit_of(t)};
    r->child = start_process(t, r->output);
    if (r->child > 0) return;
    snprintf(unstarted.reason, sizeof unstarted.reason, "its process did not start: %s",
             strerror(errno));
    finish(r, unstarted);
}

/* Whether `r` has ended by now, by itself or because its time is over. */
static bool look_at(struct running *r)
{
    struct result late = {.outcome = FAILED};
    int status;
    bool has_ended = waitpid(r->child, &status, WNOHANG) != 0;
    if (!has_ended && now_s() < r->end_s) return false;
    kill(-r->child, SIGKILL);
    if (has_ended) {
        finish(r, judge(status, r->output));
        return true;
    }
    waitpid(r->child, &status, 0);
    snprintf(late.reason, sizeof late.reason, "not done after %d s", limit_of(r->test));
    finish(r, late);
    return true;
}

/* A free one of `count` places, at the latest when the time of a test is over. SIGCHLD is blocked,
 * so none is missed between the look and the wait. */
static struct running *free_place(struct running *places, size_t count)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (;;) {
        double left = 3600;
        for (size_t i = 0; i < count; i++) {
            if (!places[i].test || look_at(&places[i])) return &places[i];
            double its = places[i].end_s - now_s();
            if (its < left) left = its > 0 ? its : 0;
        }
        struct timespec wait = {.tv_sec = (time_t)left,
                                .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        sigtimedwait(&ended, NULL, &wait);
    }
}

static void await_all(struct running *places, size_t count)
{
    for (size_t left = count; left > 0; left--) {
        struct running *freed = free_place(places, left);
        *freed = places[left - 1];
    }
}

static size_t tests_at_once(void)
{
    const char *text = getenv("TESTS_AT_ONCE");
    int count = text ? atoi(text) : 0;
    return count > 0 ? (size_t)count : 1;
}

static int run_all(char **texts, int count)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);

    struct test **all = sorted_tests();
    struct result *results = calloc(test_count + 1, sizeof *results);
    size_t n = 0, sums[OUTCOMES] = {0}, place_count = tests_at_once();
    struct running *places = calloc(place_count, sizeof *places);
    if (!results || !places) abort();
    for (size_t i = 0; i < test_count; i++) {
        if (!is_chosen(all[i], texts, count)) continue;
        all[n] = all[i];
        start(free_place(places, place_count), all[n], &results[n]);
        n++;
    }
    await_all(places, place_count);
    for (size_t i = 0; i < n; i++) sums[results[i].outcome]++;

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
    free(places);
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
