#include "json.h"

#include "fail.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct json *j, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(j->text + j->length, sizeof j->text - j->length, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof j->text - j->length)
        fail("a line of JSON is longer than %zu bytes", sizeof j->text);
    j->length += (size_t)n;
}

static void put_text(struct json *j, const char *text)
{
    put(j, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            put(j, "\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            put(j, "\\u%04x", (unsigned)*text);
        } else {
            put(j, "%c", *text);
        }
    }
    put(j, "\"");
}

void json_begin(struct json *j, const char *event)
{
    j->length = 0;
    put(j, "{\"event\":");
    put_text(j, event);
}

void json_text(struct json *j, const char *name, const char *value)
{
    put(j, ",\"%s\":", name);
    put_text(j, value);
}

void json_number(struct json *j, const char *name, double value)
{
    if (isfinite(value)) {
        put(j, ",\"%s\":%.9g", name, value);
    } else {
        put(j, ",\"%s\":null", name);
    }
}

void json_count(struct json *j, const char *name, uint64_t value)
{
    put(j, ",\"%s\":%" PRIu64, name, value);
}

void json_begin_epoch(struct json *j, uint64_t number, double seconds, double examples_per_second)
{
    json_begin(j, "epoch");
    json_count(j, "epoch", number);
    json_number(j, "seconds", seconds);
    json_number(j, "examples_per_second", examples_per_second);
}

void json_end(struct json *j)
{
    put(j, "}\n");
    if (fwrite(j->text, 1, j->length, stdout) != j->length || fflush(stdout) != 0)
        fail("stdout cannot be written: %s", strerror(errno));
}
