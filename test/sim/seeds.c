#include "seeds.h"

#include "base/time.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_MAX = 240 }; /* a seed takes far below one */

static const char *program;
static uint64_t seed;
static char seed_text[128]; /* written ahead: a handler may not */

void give_up(const char *format, ...)
{
    va_list arguments;
    printf("seed %" PRIu64 ": ", seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nreplay: %s --seed %" PRIu64 "\n", program, seed);
    fflush(stdout);
    _Exit(1); /* what was under way is left as it is: no leak to report */
}

static void say_seed(void)
{
    if (write(STDOUT_FILENO, seed_text, strlen(seed_text)) < 0) _exit(3);
}

static void on_signal(int number)
{
    say_seed();
    signal(number, SIG_DFL);
    raise(number);
}

#ifdef LOCUS_ASAN
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void catch_signals(void)
{
#ifdef LOCUS_ASAN
    __sanitizer_set_death_callback(say_seed);
#else
    signal(SIGSEGV, on_signal);
#endif
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
}

static void run_seed(void (*run)(uint64_t))
{
    snprintf(seed_text, sizeof seed_text,
             "seed %" PRIu64 " ended the process\nreplay: %s --seed %" PRIu64 "\n", seed, program,
             seed);
    alarm(SECONDS_MAX);
    run(seed);
    alarm(0);
}

static uint64_t run_seeds(int argc, char **argv, uint64_t seeds, uint64_t seconds,
                          void (*run)(uint64_t seed))
{
    uint64_t first = 1, last = seeds, deadline_ns = 0;
    program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        last = strtoull(argv[2], NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        first = last = strtoull(argv[2], NULL, 10);
    } else if (argc == 1) {
        deadline_ns = time_now_ns() + seconds * UINT64_C(1000000000);
    } else {
        fprintf(stderr, "usage: %s [--seeds N | --seed N]\n", program);
        exit(2);
    }
    catch_signals();
    for (seed = first; seed <= last; seed++) run_seed(run);
    uint64_t count = last - first + 1;
    /* seeds that no earlier run had */
    for (seed = (uint64_t)time(NULL) << 24; time_now_ns() < deadline_ns; seed++, count++)
        run_seed(run);
    return count;
}

uint64_t seeds_run(int argc, char **argv, void (*run)(uint64_t seed))
{
    return run_seeds(argc, argv, SEEDS, 0, run);
}

uint64_t seeds_run_long(int argc, char **argv, uint64_t seeds, void (*run)(uint64_t seed))
{
    const char *seconds = getenv("LOCUS_TEST_SECONDS");
    return run_seeds(argc, argv, seeds, seconds ? strtoull(seconds, NULL, 10) : 0, run);
}

int seeds_end(bool is_good)
{
    printf("%d passed, %d failed, 0 skipped\n", is_good, !is_good);
    return !is_good;
}
