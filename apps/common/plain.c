#include "plain.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80                   ? 1
                    : c[0] >= 0xC2 && c[0] < 0xE0 ? 2
                    : c[0] >= 0xE0 && c[0] < 0xF0 ? 3
                                                  : 4;
    if ((c[0] >= 0x80 && c[0] < 0xC2) || c[0] > 0xF4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    bool is_long = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    bool is_surrogate = c[0] == 0xED && c[1] > 0x9F, is_beyond = c[0] == 0xF4 && c[1] > 0x8F;
    return is_long || is_surrogate || is_beyond ? 0 : length;
}

/* What one byte becomes: \x1b. */
enum { ESCAPED = 4 };

bool plain_is_control(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    if (length == 1) return first < ' ' || first == 0x7F;
    return length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0;
}

void plain_copy(char *to, size_t capacity, const char *from)
{
    size_t n = 0;
    while (*from) {
        size_t length = utf8_length(from), bytes = length ? length : 1;
        bool is_shown = *from == '\n' || (length > 0 && !plain_is_control(from, length));
        if (n + (is_shown ? bytes : ESCAPED * bytes) >= capacity) break;
        for (size_t i = 0; i < bytes; i++, from++) {
            if (is_shown)
                to[n++] = *from;
            else
                n += (size_t)snprintf(to + n, capacity - n, "\\x%02x", (unsigned char)*from);
        }
    }
    if (capacity) to[n] = '\0';
}

const char *plain_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void plain_print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    size_t capacity = n < 0 ? 0 : ESCAPED * (size_t)n + 1;
    char *plain = n < 0 ? NULL : malloc(capacity);
    if (plain) {
        plain_copy(plain, capacity, text);
        fputs(plain, stdout);
    }
    free(plain);
    if (n >= 0) free(text);
}
