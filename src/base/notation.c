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

/* How many bytes the character at `c` has; 0: it is none, or one that controls. */
static size_t bytes_of(const unsigned char *c)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = 1;
    if (*c >= 0x80) bytes = *c < 0xC0 || *c >= 0xF8 ? 0 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
    if (bytes == 0) return 0;
    unsigned code = bytes == 1 ? *c : *c & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (c[i] & 0x3Fu);
    }
    bool is_surrogate = code >= 0xD800 && code < 0xE000;
    bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    return code < least[bytes] || code > 0x10FFFF || is_surrogate || is_control ? 0 : bytes;
}

bool notation_is_text(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    for (size_t bytes; *c; c += bytes)
        if ((bytes = bytes_of(c)) == 0) return false;
    return true;
}
