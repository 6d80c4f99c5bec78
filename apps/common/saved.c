#include "saved.h"

#include "fail.h"
#include "npz.h"
#include "word2vec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 1 << 26, LENGTH_BYTES = 8, DIGITS_MAX = 18 };

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

struct scan {
    struct saved *saved;
    char *at; /* a zero byte is behind the end */
};

static _Noreturn void refuse(const struct scan *s)
{
    saved_fail(s->saved, "is no model: its header is not to be understood (of an archive: "
                         "notes.json, which has texts alone)");
}

static bool is_next(struct scan *s, char mark)
{
    s->at += strspn(s->at, " \t\r\n");
    if (*s->at != mark) return false;
    s->at++;
    return true;
}

static void take_mark(struct scan *s, char mark)
{
    if (!is_next(s, mark)) refuse(s);
}

/* Four hexadecimal digits become UTF-8. */
static char *take_code(struct scan *s, char *to)
{
    char digits[5] = {0}, *end;
    memcpy(digits, s->at, strnlen(s->at, 4));
    unsigned code = (unsigned)strtoul(digits, &end, 16);
    if (end != digits + 4 || code == 0 || (code >= 0xd800 && code < 0xe000)) refuse(s);
    s->at += 4;
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* In its place: it does not become longer. */
static const char *take_text(struct scan *s)
{
    static const char marks[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    take_mark(s, '"');
    char *first = s->at, *to = first;
    while (*s->at != '"') {
        if (*s->at == '\0') refuse(s);
        if (*s->at != '\\') {
            *to++ = *s->at++;
            continue;
        }
        const char *mark = *++s->at ? strchr(marks, *s->at) : NULL;
        bool is_code = *s->at == 'u';
        if (!mark && !is_code) refuse(s);
        s->at++;
        if (is_code)
            to = take_code(s, to);
        else
            *to++ = meant[mark - marks];
    }
    s->at++;
    *to = '\0';
    return first;
}

static uint64_t take_whole(struct scan *s)
{
    s->at += strspn(s->at, " \t\r\n");
    size_t digits = strspn(s->at, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX) refuse(s);
    return strtoull(s->at, &s->at, 10);
}

/* Returns how many. */
static size_t take_list(struct scan *s, uint64_t *numbers, size_t most)
{
    size_t count = 0;
    take_mark(s, '[');
    if (is_next(s, ']')) return 0;
    do {
        if (count == most) refuse(s);
        numbers[count++] = take_whole(s);
    } while (is_next(s, ','));
    take_mark(s, ']');
    return count;
}

static void take_notes(struct scan *s)
{
    struct saved *m = s->saved;
    take_mark(s, '{');
    if (is_next(s, '}')) return;
    do {
        if (m->note_count == SAVED_NOTES_MAX) refuse(s);
        struct saved_note *n = &m->notes[m->note_count++];
        n->name = take_text(s);
        take_mark(s, ':');
        n->value = take_text(s);
    } while (is_next(s, ','));
    take_mark(s, '}');
}

void saved_take_notes(struct saved *s, char *json)
{
    take_notes(&(struct scan){.saved = s, .at = json});
}

static void set_type(struct scan *s, struct saved_tensor *t, const char *name, size_t *bytes)
{
    for (unsigned i = 0; i < TENSORS_TYPES; i++) {
        if (strcmp(tensors_types[i].name, name) != 0) continue;
        t->type = (enum tensors_type)i;
        *bytes = tensors_types[i].bytes;
        return;
    }
    saved_fail(s->saved, "has a tensor \"%s\" of type %s, which is not used here", t->name, name);
}

/* `first`: of what is behind the header. */
static void take_tensor(struct scan *s, const char *name, const char *first)
{
    struct saved *m = s->saved;
    uint64_t shape[2] = {0}, place[2] = {0}, left = (uint64_t)(m->file.end - first);
    size_t dimensions = 0, bytes = 0;
    if (m->tensor_count == SAVED_TENSORS_MAX) refuse(s);
    struct saved_tensor *t = &m->tensors[m->tensor_count++];
    *t = (struct saved_tensor){.name = name};
    take_mark(s, '{');
    do {
        const char *member = take_text(s);
        take_mark(s, ':');
        if (strcmp(member, "dtype") == 0)
            set_type(s, t, take_text(s), &bytes);
        else if (strcmp(member, "shape") == 0)
            dimensions = take_list(s, shape, 2);
        else if (strcmp(member, "data_offsets") != 0 || take_list(s, place, 2) != 2)
            refuse(s);
    } while (is_next(s, ','));
    take_mark(s, '}');
    t->rows = shape[0];
    t->columns = dimensions == 2 ? shape[1] : 0;
    t->values = first + place[0];
    uint64_t each = t->columns ? t->columns : 1;
    bool has_room = place[0] <= place[1] && place[1] <= left && bytes > 0 && dimensions > 0;
    if (!has_room || t->rows > left / each / bytes || t->rows * each * bytes != place[1] - place[0])
        saved_fail(m, "its tensor \"%s\" has another size than its shape, or is cut off", name);
    if ((uintptr_t)t->values % bytes != 0)
        saved_fail(m,
                   "its tensor \"%s\" is not aligned: save it by this program, or by "
                   "safetensors",
                   name);
}

static void take_header(struct scan *s, const char *first)
{
    take_mark(s, '{');
    do {
        const char *name = take_text(s);
        take_mark(s, ':');
        if (strcmp(name, "__metadata__") == 0)
            take_notes(s);
        else
            take_tensor(s, name, first);
    } while (is_next(s, ','));
    take_mark(s, '}');
}

void saved_open(struct saved *s, const char *path)
{
    uint64_t length = 0;
    *s = (struct saved){0};
    lines_open(&s->file, path);
    if (word2vec_open(s) || npz_open(s)) return;
    uint64_t bytes = s->file.file ? (uint64_t)(s->file.end - s->file.file) : 0;
    if (bytes >= LENGTH_BYTES) memcpy(&length, s->file.file, LENGTH_BYTES);
    if (length == 0 || length > HEADER_MAX || length > bytes - LENGTH_BYTES)
        saved_fail(s, "is no model in safetensors, or is cut off%s",
                   strcmp(fail_program(), "locus-wv") == 0
                       ? "; of word2vec's files the first line has the number of words and that of "
                         "floats"
                       : "");
    s->header = take_memory(length + 1, 1);
    memcpy(s->header, s->file.file + LENGTH_BYTES, length);
    take_header(&(struct scan){.saved = s, .at = s->header}, s->file.file + LENGTH_BYTES + length);
}

void saved_close(struct saved *s)
{
    free(s->header);
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
