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

/* _exit, not a jump to the runner: a check may fail in a thread or on the stack of a fiber. */
void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

void test_equal(const char *file, int line, const char *a, const char *b, long long a_value, long long b_value)
{
    if (a_value != b_value) test_fail(file, line, "CHECK_EQ(%s, %s): %lld != %lld", a, b, a_value, b_value);
}

void test_contains(const char *file, int line, const char *name, const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        test_fail(file, line, "CHECK_STR(%s): \"%s\" does not contain \"%s\"", name, text ? text : "(null)", part);
}
