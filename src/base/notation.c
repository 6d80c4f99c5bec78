#include "base/notation.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* 0: there is no memory for one, and the program's is used. */
static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

/* This thread's from now on; what it was before. */
static locale_t begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

int notation_format(char *to, size_t capacity, const char *format, va_list arguments)
{
    locale_t before = begin();
    int n = vsnprintf(to, capacity, format, arguments);
    uselocale(before);
    return n;
}

int notation_print(FILE *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    locale_t before = begin();
    int n = vfprintf(f, format, arguments);
    uselocale(before);
    va_end(arguments);
    return n;
}

double notation_read(const char *text, char **end)
{
    locale_t before = begin();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void notation_name(FILE *f, const char *name)
{
    for (; *name; name++) fputc(is_alphanumeric(*name) ? *name : '_', f);
}
