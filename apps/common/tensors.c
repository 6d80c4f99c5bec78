#include "tensors.h"

#include "fail.h"
#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Readers want the tensors aligned. */
enum { ALIGNMENT = 8 };

const struct tensors_type_about tensors_types[TENSORS_TYPES] = {[TENSORS_F32] = {"F32", 4},
                                                                [TENSORS_F64] = {"F64", 8},
                                                                [TENSORS_I64] = {"I64", 8},
                                                                [TENSORS_U8] = {"U8", 1}};

static void append(char **text, size_t *length, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char **text, size_t *length, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    char *longer = resize_memory(*text, *length + (size_t)n + 1, 1, "bytes of a model's header");
    vsnprintf(longer + *length, (size_t)n + 1, format, again);
    va_end(again);
    va_end(arguments);
    *text = longer;
    *length += (size_t)n;
}

static void append_quoted(char **text, size_t *length, const char *value)
{
    char escaped[JSON_ESCAPED_BYTES];
    append(text, length, "\"");
    while (*value) {
        value = json_escape(value, escaped);
        append(text, length, "%s", escaped);
    }
    append(text, length, "\"");
}

void tensors_open(struct tensors *t, const char *path)
{
    *t = (struct tensors){.path = path};
    saving_open(&t->saving, path);
}

void tensors_note(struct tensors *t, const char *name, const char *value)
{
    append(&t->notes, &t->notes_length, t->notes ? "," : "");
    append_quoted(&t->notes, &t->notes_length, name);
    append(&t->notes, &t->notes_length, ":");
    append_quoted(&t->notes, &t->notes_length, value);
}

void tensors_note_count(struct tensors *t, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    tensors_note(t, name, text);
}

void tensors_note_number(struct tensors *t, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    tensors_note(t, name, text);
}

void tensors_declare(struct tensors *t, const char *name, enum tensors_type type, uint64_t rows,
                     uint64_t columns)
{
    uint64_t bytes = rows * (columns ? columns : 1) * tensors_types[type].bytes;
    append(&t->header, &t->header_length, ",");
    append_quoted(&t->header, &t->header_length, name);
    append(&t->header, &t->header_length, ":{\"dtype\":\"%s\",\"shape\":[%" PRIu64,
           tensors_types[type].name, rows);
    if (columns) append(&t->header, &t->header_length, ",%" PRIu64, columns);
    append(&t->header, &t->header_length, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
           t->declared, t->declared + bytes);
    t->declared += bytes;
}

void tensors_declare_names(struct tensors *t, const char *name, const struct names *n)
{
    if (n->count > 0) tensors_declare(t, name, TENSORS_U8, n->text_length, 0);
}

void tensors_begin(struct tensors *t)
{
    char *text = NULL;
    size_t length = 0;
    t->has_begun = true;
    append(&text, &length, "{\"__metadata__\":{%s}%s}", t->notes ? t->notes : "",
           t->header ? t->header : "");
    while (length % ALIGNMENT) append(&text, &length, " ");
    uint64_t size = length;
    saving_put(&t->saving, &size, sizeof size);
    saving_put(&t->saving, text, length);
    free(text);
}

void tensors_write(struct tensors *t, const void *bytes, size_t count)
{
    if (!t->has_begun || t->written + count > t->declared)
        fail("%s: more tensors than declared", t->path);
    saving_put(&t->saving, bytes, count);
    t->written += count;
}

void tensors_write_names(struct tensors *t, const struct names *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const char *name = names_get(n, i);
        while (*name) {
            size_t length = strcspn(name, "\n");
            tensors_write(t, name, length);
            name += length;
            if (*name) tensors_write(t, " ", 1), name++;
        }
        tensors_write(t, "\n", 1);
    }
}

void tensors_close(struct tensors *t)
{
    if (t->written != t->declared) fail("%s: fewer tensors than declared", t->path);
    saving_close(&t->saving);
    free(t->header);
    free(t->notes);
    *t = (struct tensors){0};
}
