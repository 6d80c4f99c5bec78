/* Runs the tests under Criterion; its usual options, or one text that the suite/name must contain.
 * Closes with the same lines as the plain runner. */
#include "test.h"

#include <criterion/hooks.h>
#include <criterion/options.h>
#include <criterion/stats.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTEMPTS = 3 };

static size_t passed, failed, skipped;

void test_skip(const char *reason)
{
    cr_skip_test("%s", reason);
    __builtin_unreachable(); /* Criterion jumps out of the test */
}

/* Criterion 2.4.1 frees what it knows of an ended test while its thread that waits for children may
 * still hold the lock in there; the unlock then writes to freed memory, and the runner dies of that
 * now and then. It destroys the lock first, with this, found here before the C library's: whoever
 * holds it is waited for. */
__attribute__((visibility("default"))) int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    static int (*original)(pthread_mutex_t *);
    int (*found)(pthread_mutex_t *) = __atomic_load_n(&original, __ATOMIC_RELAXED);
    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, "pthread_mutex_destroy");
        if (!found) abort();
        __atomic_store_n(&original, found, __ATOMIC_RELAXED);
    }
    if (pthread_mutex_lock(mutex) == 0) pthread_mutex_unlock(mutex);
    return found(mutex);
}

static void count(const struct criterion_suite_stats *suite, const struct criterion_test_stats *t)
{
    if (t->test_status == CR_STATUS_SKIPPED) {
        if (!t->message) return; /* it was not chosen */
        skipped++;
        printf("skipped: %s/%s: %s\n", suite->suite->name, t->test->name, t->message);
    } else if (t->test_status == CR_STATUS_FAILED || t->crashed || t->timed_out ||
               t->exit_code != 0) {
        failed++;
        printf("failed: %s/%s\n", suite->suite->name, t->test->name);
    } else {
        passed++;
    }
}

ReportHook(POST_ALL)(struct criterion_global_stats *all)
{
    for (struct criterion_suite_stats *s = all->suites; s; s = s->next)
        for (struct criterion_test_stats *t = s->tests; t; t = t->next) count(s, t);
}

static int run(int argc, char **argv)
{
    static char pattern[256];
    struct criterion_test_set *tests = criterion_initialize();
    if (argc == 2 && argv[1][0] != '-') {
        snprintf(pattern, sizeof pattern, "*%s*", argv[1]);
        criterion_options.pattern = pattern;
    } else if (!criterion_handle_args(argc, argv, true)) {
        return 0;
    }
    int good = criterion_run_all_tests(tests);
    criterion_finalize(tests);
    if (!good && failed == 0) failed = 1; /* the run as a whole broke, though no test of it did */
    bool has_run = passed + failed + skipped > 0; /* Criterion is content with none */
    if (!has_run) printf("no test was chosen\n");
    printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
    return failed > 0 || !has_run;
}

/* Children that tests have left are this process' once their parents have ended. Whoever reads what
 * the tests print would wait for them, too: they have it open. */
static void end_orphans(void)
{
    int pid;
    do {
        FILE *children = fopen("/proc/thread-self/children", "re");
        while (children && fscanf(children, "%d", &pid) == 1) kill(pid, SIGKILL);
        if (!children) return;
        fclose(children);
    } while (wait(NULL) > 0 || errno == EINTR);
}

/* A test that crashes is a result, told by the exit status. A signal that ends the runner is
 * Criterion's own fault (see above), and says nothing of the tests: they run once more. Executed
 * anew, not forked: nng aborts after a fork. */
static int supervise(char **argv)
{
    char self[] = "/proc/self/exe";
    int status = 0;
    setenv("LOCUS_TEST_SUPERVISED", "1", 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        pid_t runner, ended;
        if (posix_spawn(&runner, self, NULL, NULL, argv, environ) != 0) return 2;
        while ((ended = wait(&status)) != runner)
            if (ended < 0 && errno != EINTR) return 2;
        end_orphans();
        if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
        fprintf(stderr, "Criterion's runner itself ended by signal %d; all tests run again\n",
                WTERMSIG(status));
    }
    return 2;
}

/* Visible: the process of a test is this program too, and Criterion finds the way in by the
 * name. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
    return getenv("LOCUS_TEST_SUPERVISED") ? run(argc, argv) : supervise(argv);
}
