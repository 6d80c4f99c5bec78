#include "saved.h"

#include "fail.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 1 << 26, LENGTH_BYTES = 8 };

void saved_fail(const struct saved *s, const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fail("%s: %s", s->file.path, sentence);
}

/* ---- the header: JSON of which we need objects, texts, whole numbers and lists of these ---- */

static _Noreturn void refuse(const struct saved *s)
{
    saved_fail(s, "is no model: its header is not to be understood");
}

static const char *text_of(const struct saved *s, const json_t *text)
{
    const char *value = json_string_value(text);
    if (!value) refuse(s);
    return value;
}

/* Returns how many, two at most. */
static size_t list_of(const struct saved *s, const json_t *list, uint64_t numbers[2])
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > 2) refuse(s);
    for (size_t i = 0; i < count; i++) {
        json_int_t number = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)) || number < 0) refuse(s);
        numbers[i] = (uint64_t)number;
    }
    return count;
}

static void take_notes(struct saved *s, json_t *notes)
{
    const char *name;
    json_t *value;
    if (!json_is_object(notes) || json_object_size(notes) > SAVED_NOTES_MAX - s->note_count)
        refuse(s);
    json_object_foreach(notes, name, value)
    {
        s->notes[s->note_count++] = (struct saved_note){name, text_of(s, value)};
    }
}

static enum tensors_type type_of(const struct saved *s, const char *tensor, const char *name)
{
    for (unsigned i = 0; i < TENSORS_TYPES; i++)
        if (strcmp(tensors_types[i].name, name) == 0) return (enum tensors_type)i;
    saved_fail(s, "has a tensor \"%s\" of type %s, which is not used here", tensor, name);
}

/* `first`: of what is behind the header. */
static void take_tensor(struct saved *s, const char *name, const json_t *about, const char *first)
{
    uint64_t shape[2] = {0}, place[2] = {0}, left = (uint64_t)(s->file.end - first);
    if (s->tensor_count == SAVED_TENSORS_MAX) refuse(s);
    struct saved_tensor *t = &s->tensors[s->tensor_count++];
    *t = (struct saved_tensor){.name = name};
    t->type = type_of(s, name, text_of(s, json_object_get(about, "dtype")));
    size_t dimensions = list_of(s, json_object_get(about, "shape"), shape);
    if (list_of(s, json_object_get(about, "data_offsets"), place) != 2) refuse(s);
    t->rows = shape[0];
    t->columns = dimensions == 2 ? shape[1] : 0;
    uint64_t each = t->columns ? t->columns : 1, bytes = tensors_types[t->type].bytes;
    bool has_room = place[0] <= place[1] && place[1] <= left && dimensions > 0;
    if (!has_room || t->rows > left / each / bytes || t->rows * each * bytes != place[1] - place[0])
        saved_fail(s, "its tensor \"%s\" has another size than its shape, or is cut off", name);
    t->values = first + place[0];
    if ((uintptr_t)t->values % bytes != 0)
        saved_fail(s,
                   "its tensor \"%s\" is not aligned: save it by this program, or by "
                   "safetensors",
                   name);
}

/* What is behind the object is passed over: blanks, so that tensors are aligned. */
static void take_header(struct saved *s, const char *text, size_t length)
{
    const char *name;
    json_t *value;
    s->json = json_loadb(text, length, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, NULL);
    if (json_object_size(s->json) == 0) refuse(s);
    json_object_foreach(s->json, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            take_notes(s, value);
        else
            take_tensor(s, name, value, text + length);
    }
}

void saved_open(struct saved *s, const char *path)
{
    uint64_t length = 0;
    *s = (struct saved){0};
    lines_open(&s->file, path, NULL);
    uint64_t bytes = s->file.file ? (uint64_t)(s->file.end - s->file.file) : 0;
    if (bytes >= LENGTH_BYTES) memcpy(&length, s->file.file, LENGTH_BYTES);
    if (length == 0 || length > HEADER_MAX || length > bytes - LENGTH_BYTES)
        saved_fail(s,
                   "is no model in safetensors, or is cut off (\"locus prepare vectors\" makes one "
                   "of word vectors)");
    take_header(s, s->file.file + LENGTH_BYTES, length);
}

void saved_close(struct saved *s)
{
    json_decref(s->json);
    lines_close(&s->file);
}

/* ---- looks ---- */

const char *saved_note(const struct saved *s, const char *name)
{
    for (size_t i = 0; i < s->note_count; i++)
        if (strcmp(s->notes[i].name, name) == 0) return s->notes[i].value;
    return NULL;
}

double saved_number(const struct saved *s, const char *name)
{
    const char *text = saved_note(s, name);
    double number;
    if (!text) saved_fail(s, "says nothing of \"%s\": save the model by this version", name);
    if (!lines_number(text, strlen(text), &number))
        saved_fail(s, "\"%s\" is \"%.40s\", which is no number", name, text);
    return number;
}

const struct saved_tensor *saved_find(const struct saved *s, const char *name,
                                      enum tensors_type type)
{
    for (size_t i = 0; i < s->tensor_count; i++) {
        const struct saved_tensor *t = &s->tensors[i];
        if (strcmp(t->name, name) != 0) continue;
        if (t->type != type)
            saved_fail(s, "its tensor \"%s\" has the type %s, not %s", name,
                       tensors_types[t->type].name, tensors_types[type].name);
        return t;
    }
    return NULL;
}

const struct saved_tensor *saved_take(const struct saved *s, const char *name,
                                      enum tensors_type type, uint64_t rows, uint64_t columns)
{
    const struct saved_tensor *t = saved_find(s, name, type);
    if (!t) saved_fail(s, "has no tensor \"%s\": is it a model of %s?", name, fail_program());
    if ((rows > 0 && t->rows != rows) || t->columns != columns || t->rows > NAMES_NONE)
        saved_fail(s,
                   "its tensor \"%s\" has %" PRIu64 " rows and %" PRIu64 " columns, which does "
                   "not fit the others",
                   name, t->rows, t->columns);
    return t;
}

void saved_names(const struct saved *s, const char *name, uint64_t count, struct names *n)
{
    const struct saved_tensor *t = saved_find(s, name, TENSORS_U8);
    names_init(n);
    if (!t) return;
    const char *at = t->values, *end = at + t->rows;
    if (count == 0)
        for (const char *c = at; c < end; c++) count += *c == '\n';
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || memchr(at, '\0', (size_t)(stop - at)) || n->count == count) break;
        names_add(n, at, (size_t)(stop - at));
        at = stop + 1;
    }
    if (at < end || n->count != count)
        saved_fail(s, "its \"%s\" are not the names of %" PRIu64 " rows, a line each", name, count);
}

void saved_row_names(const struct saved *s, const struct saved_tensor *t, const char *name,
                     struct names *n)
{
    saved_names(s, name, 0, n);
    if (t && n->count > 0 && t->rows != n->count && t->rows != 2 * (uint64_t)n->count)
        saved_fail(s, "\"%s\" are not the names of \"%s\"", name, t->name);
}
