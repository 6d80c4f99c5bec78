/* What the macros of test.h call, the same under both runners. */
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int test_seconds(void)
{
    const char *text = getenv("LOCUS_TEST_SECONDS");
    int seconds = text ? atoi(text) : 0;
    return seconds > 0 ? seconds : 5;
}

enum { SENTENCE_BYTES = 4096 }; /* what a pipe takes in one piece (PIPE_BUF) */

static size_t length_of(int written, size_t capacity)
{
    if (written < 0) return 0;
    return (size_t)written < capacity ? (size_t)written : capacity - 1;
}

/* In one piece: tests run side by side, and write to the same place. _exit, not a jump to the
 * runner: a check may fail in a thread or on the stack of a fiber. */
void test_fail(const char *file, int line, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    fflush(stdout);
    size_t capacity = sizeof sentence - 1; /* for the end of the line */
    size_t n = length_of(snprintf(sentence, capacity, "%s:%d: ", file, line), capacity);
    va_start(arguments, format);
    n += length_of(vsnprintf(sentence + n, capacity - n, format, arguments), capacity - n);
    va_end(arguments);
    sentence[n++] = '\n';
    ssize_t written = write(STDERR_FILENO, sentence, n);
    (void)written; /* there is nobody else to tell */
    _exit(1);
}

void test_equal(const char *file, int line, const char *a, const char *b, long long a_value,
                long long b_value)
{
    if (a_value != b_value)
        test_fail(file, line, "CHECK_EQ(%s, %s): %lld != %lld", a, b, a_value, b_value);
}

void test_contains(const char *file, int line, const char *name, const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        test_fail(file, line, "CHECK_STR(%s): \"%s\" does not contain \"%s\"", name,
                  text ? text : "(null)", part);
}
