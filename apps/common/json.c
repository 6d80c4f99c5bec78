#include "json.h"

#include "fail.h"
#include "plain.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct json *j, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vfprintf(j->line, format, arguments);
    va_end(arguments);
    if (n < 0) fail("a line of JSON finds no memory");
}

const char *json_escape(const char *text, char *escaped)
{
    size_t length = utf8_length(text);
    if (length == 0) {
        snprintf(escaped, JSON_ESCAPED_BYTES, "\\ufffd");
        return text + 1;
    }
    if (*text == '"' || *text == '\\')
        snprintf(escaped, JSON_ESCAPED_BYTES, "\\%c", *text);
    else if (plain_is_control(text, length))
        snprintf(escaped, JSON_ESCAPED_BYTES, "\\u%04x", (unsigned char)text[length - 1]);
    else
        snprintf(escaped, JSON_ESCAPED_BYTES, "%.*s", (int)length, text);
    return text + length;
}

static void put_text(struct json *j, const char *text)
{
    char escaped[JSON_ESCAPED_BYTES];
    put(j, "\"");
    while (*text) {
        text = json_escape(text, escaped);
        put(j, "%s", escaped);
    }
    put(j, "\"");
}

void json_begin_in(struct json *j, const struct json_style *style, FILE *file, const char *value)
{
    if (!j) return;
    j->line = open_memstream(&j->text, &j->length);
    if (!j->line) fail("a line of JSON finds no memory");
    j->style = style;
    j->file = file;
    put(j, "{\"%s\"%s", style->first, style->colon);
    put_text(j, value);
}

void json_begin(struct json *j, const char *event)
{
    static const struct json_style events = {"event", ",", ":", 9};
    json_begin_in(j, &events, stdout, event);
}

static void put_name(struct json *j, const char *name)
{
    put(j, "%s\"%s\"%s", j->style->comma, name, j->style->colon);
}

void json_text(struct json *j, const char *name, const char *value)
{
    if (!j) return;
    put_name(j, name);
    put_text(j, value);
}

static void put_number(struct json *j, double value)
{
    if (isfinite(value)) {
        put(j, "%.*g", j->style->digits, value);
    } else {
        put(j, "null");
    }
}

void json_number(struct json *j, const char *name, double value)
{
    if (!j) return;
    put_name(j, name);
    put_number(j, value);
}

void json_numbers(struct json *j, const char *name, const double *values, size_t count)
{
    if (!j) return;
    put_name(j, name);
    put(j, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) put(j, "%s", j->style->comma);
        put_number(j, values[i]);
    }
    put(j, "]");
}

void json_count(struct json *j, const char *name, uint64_t value)
{
    if (!j) return;
    put_name(j, name);
    put(j, "%" PRIu64, value);
}

void json_end(struct json *j)
{
    if (!j) return;
    put(j, "}\n");
    if (fclose(j->line) != 0) fail("a line of JSON finds no memory");
    if (fwrite(j->text, 1, j->length, j->file) != j->length || fflush(j->file) != 0)
        fail("%s cannot be written: %s", j->file == stdout ? "stdout" : "the file of JSON",
             strerror(errno));
    free(j->text);
}
