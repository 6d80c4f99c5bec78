#include "fail.h"

#include "locus.h"
#include "plain.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SENTENCE_MAX = 1024, LINE_BYTES = 64 };

static const char *program = "locus";
static atomic_bool is_failing;
static char unfinished[PATH_MAX];
static atomic_bool is_unfinished;

void fail_set_program(const char *name)
{
    program = name;
}

const char *fail_program(void)
{
    return program;
}

static const char *_Atomic added, *_Atomic kept;
static const char *added_only_of, *kept_only_of;

static void say_once(const char *_Atomic *text)
{
    const char *line = atomic_exchange(text, NULL);
    if (!line) return;
    if (write(STDERR_FILENO, line, strlen(line)) < 0) return; /* there is nobody to tell it */
}

static void add(const char *sentence)
{
    if (!sentence || !added_only_of || strstr(sentence, added_only_of)) say_once(&added);
}

static void remove_unfinished(void)
{
    if (atomic_load(&is_unfinished)) unlink(unfinished);
}

/* Resets itself: the signal does then what it does without us. */
static void on_end(int signal)
{
    remove_unfinished();
    if ((signal == SIGINT || signal == SIGTERM) && !kept_only_of) say_once(&kept);
    add(NULL);
    raise(signal);
}

static void heed_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction now, ours = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(ends[i], &ours, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* then writing fails, with a reason */
}

void fail_adds(const char *line, const char *only_of)
{
    added_only_of = only_of;
    atomic_store(&added, line);
    heed_signals();
}

void fail_keeps(const char *line, const char *only_of)
{
    kept_only_of = only_of;
    atomic_store(&kept, line);
    if (line) heed_signals();
}

void fail_removes(const char *path)
{
    atomic_store(&is_unfinished, false);
    if (!path) return;
    heed_signals();
    snprintf(unfinished, sizeof unfinished, "%s", path);
    atomic_store(&is_unfinished, true);
}

static atomic_int ends_by;

void fail_ends_by(int signal)
{
    ends_by = signal;
}

/* Other threads may be anywhere, so nothing is cleaned up but a file: the kernel does that, and
 * peers see closed links. */
static _Noreturn void give_up(int status, const char *sentence, bool is_lost)
{
    if (is_lost && ends_by) raise(ends_by);
    char shown[2 * SENTENCE_MAX];
    if (atomic_exchange(&is_failing, true)) {
        for (;;) pause();
    }
    remove_unfinished();
    fflush(stdout);
    plain_copy(shown, sizeof shown, sentence);
    fprintf(stderr, "%s: %s\n", program, shown);
    fflush(stderr);
    if (is_lost && (!kept_only_of || strstr(shown, kept_only_of))) say_once(&kept);
    add(shown);
    _exit(status);
}

void fail(const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    give_up(FAIL_STATUS, sentence, false);
}

void fail_usage(const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    give_up(FAIL_STATUS_USAGE, sentence, false);
}

int fail_unless_printed(void)
{
    if (ferror(stdout)) fail("not all could be written to stdout");
    if (fflush(stdout) != 0) fail("stdout cannot be written: %s", strerror(errno));
    return 0;
}

void fail_call(int rc, const char *what)
{
    char sentence[SENTENCE_MAX];
    const char *why = locus_error();
    snprintf(sentence, sizeof sentence, "%s: %s", what, *why ? why : locus_strerror(rc));
    give_up(FAIL_STATUS, sentence, rc == -ECONNRESET);
}

void *take_memory(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total) || total > SIZE_MAX - LINE_BYTES)
        fail("%zu times %zu bytes of memory are more than there can be", count, bytes);
    total = (total + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    if (total == 0) total = LINE_BYTES;
    void *memory = aligned_alloc(LINE_BYTES, total);
    if (!memory)
        fail(
            "%zu bytes of memory could not be had: use a smaller model, smaller batches or more nodes",
            total);
    return memset(memory, 0, total);
}
