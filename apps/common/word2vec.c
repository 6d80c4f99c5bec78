#include "word2vec.h"

#include "fail.h"
#include "saving.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 48 };

struct scan {
    struct saved *saved;
    const char *at, *end;
    uint64_t rows, columns;
    char mark; /* between fields */
    bool is_text;
};

static bool take_header(struct scan *s)
{
    char line[HEADER_MAX];
    size_t left = (size_t)(s->end - s->at), most = left < HEADER_MAX ? left : HEADER_MAX;
    const char *stop = left > 0 ? memchr(s->at, '\n', most) : NULL;
    if (!stop) return false;
    int length = 0, is = snprintf(line, sizeof line, "%.*s", (int)(stop - s->at), s->at);
    if (strspn(line, "0123456789 \t\r") != (size_t)is || /* sscanf() takes signs */
        sscanf(line, "%9" SCNu64 " %6" SCNu64 " %n", &s->rows, &s->columns, &length) != 2 ||
        length != is || s->rows == 0 || s->columns == 0)
        return false;
    s->at = stop + 1;
    return true;
}

/* The next field of the line; false: there is none. */
static bool take_field(struct scan *s, struct field *f)
{
    while (s->at < s->end && *s->at == s->mark) s->at++;
    *f = (struct field){.text = s->at};
    while (s->at < s->end && *s->at != s->mark && *s->at != '\n' && *s->at != '\r') s->at++;
    f->length = (size_t)(s->at - f->text);
    return f->length > 0;
}

/* Without that line the first row tells how it is. */
static bool take_first(struct scan *s)
{
    const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
    struct scan look;
    struct field f;
    double number;
    s->is_text = true;
    if (memchr(s->at, '\t', (size_t)((stop ? stop : s->end) - s->at))) s->mark = '\t';
    look = *s;
    if (!take_field(&look, &f)) return false;
    s->rows = s->columns = 0;
    for (; take_field(&look, &f); s->columns++)
        if (!lines_number(f.text, f.length, &number)) return false;
    for (const char *c = s->at; c < s->end; c++)
        s->rows += *c != '\n' && *c != '\r' && (c == s->at || c[-1] == '\n');
    return s->columns > 1;
}

static bool take_numbers(struct scan *s, float *to)
{
    struct field f;
    double number;
    for (uint64_t i = 0; i < s->columns; i++) {
        if (!take_field(s, &f) || !lines_number(f.text, f.length, &number) ||
            fabs(number) > (double)FLT_MAX)
            return false;
        to[i] = (float)number;
    }
    return !take_field(s, &f);
}

static bool take_floats(struct scan *s, float *to)
{
    size_t bytes = s->columns * sizeof *to;
    if ((size_t)(s->end - s->at) < bytes) return false;
    memcpy(to, s->at, bytes);
    s->at += bytes;
    return true;
}

/* Returns where the next name goes. */
static char *take_word(struct scan *s, uint64_t row, float *values, char *name)
{
    struct field word;
    while (s->at < s->end && (*s->at == '\n' || *s->at == '\r')) s->at++;
    bool is_good = take_field(s, &word) && !memchr(word.text, '\0', word.length) &&
                   s->at < s->end && *s->at++ == s->mark;
    const char *numbers = s->at;
    if (is_good && row == 0) s->is_text |= take_numbers(s, values);
    if (row == 0) s->at = numbers;
    if (!is_good || !(s->is_text ? take_numbers(s, values) : take_floats(s, values)))
        saved_fail(s->saved, "has no word and %" PRIu64 " numbers at place %" PRIu64 " of %" PRIu64,
                   s->columns, row + 1, s->rows);
    memcpy(name, word.text, word.length);
    name[word.length] = '\n';
    return name + word.length + 1;
}

static void add_tensor(struct saved *m, const char *name, enum tensors_type type, uint64_t rows,
                       uint64_t columns, const void *values)
{
    m->tensors[m->tensor_count++] = (struct saved_tensor){
        .name = name, .type = type, .rows = rows, .columns = columns, .values = values};
}

bool word2vec_open(struct saved *m)
{
    struct scan s = {.saved = m, .at = m->file.file, .end = m->file.end, .mark = ' '};
    if (!s.at || (!take_header(&s) && !take_first(&s))) return false;
    size_t left = (size_t)(s.end - s.at), floats = s.rows * s.columns;
    if (floats > left / 2)
        saved_fail(m, "is cut off: %" PRIu64 " vectors of %" PRIu64 " need more", s.rows,
                   s.columns);
    float *inputs = take_memory(floats * sizeof *inputs + left + s.rows, 1);
    char *names = (char *)(inputs + floats), *name = names;
    m->copies = (char *)inputs;
    for (uint64_t row = 0; row < s.rows; row++)
        name = take_word(&s, row, inputs + row * s.columns, name);
    add_tensor(m, "inputs", TENSORS_F32, s.rows, s.columns, inputs);
    add_tensor(m, "word_names", TENSORS_U8, (uint64_t)(name - names), 0, names);
    m->notes[m->note_count++] = (struct saved_note){"model", "skip-gram"};
    return true;
}

/* ---- writing ---- */

/* A blank would end the name, and who reads the file takes two rows of one name for a fault. */
static void write_name(struct word2vec *w, uint64_t row)
{
    enum { NUMBER_MAX = 24 };
    const char *name = w->names->count ? names_get(w->names, (uint32_t)(row % w->names->count))
                                       : "";
    size_t length = strlen(name), more = 0;
    char *text = take_memory(length + NUMBER_MAX, 1);
    for (size_t i = 0; i < length; i++)
        text[i] = name[i] == ' ' || (name[i] >= '\t' && name[i] <= '\r') ? '_' : name[i];
    if (w->names->count == 0) length = (size_t)snprintf(text, NUMBER_MAX, "%" PRIu64, row);
    for (uint32_t twin = 2; names_add(&w->written, text, length + more) != row; twin++)
        more = (size_t)snprintf(text + length, NUMBER_MAX, "_%" PRIu32, twin);
    fwrite(text, 1, length + more, w->file);
    free(text);
}

void word2vec_begin(struct word2vec *w, FILE *file, const struct names *names, uint64_t rows,
                    size_t dim, bool is_binary)
{
    *w = (struct word2vec){.names = names, .dim = dim, .file = file, .is_binary = is_binary};
    names_init(&w->written);
    fprintf(file, "%" PRIu64 " %zu\n", rows, dim);
}

void word2vec_put(void *word2vec, uint64_t row, const float *values)
{
    struct word2vec *w = word2vec;
    write_name(w, row);
    if (w->is_binary) {
        fputc(' ', w->file);
        fwrite(values, sizeof *values, w->dim, w->file);
    }
    for (size_t i = 0; i < w->dim && !w->is_binary; i++)
        fprintf(w->file, " %.6g", (double)values[i]);
    fputc('\n', w->file);
}

void word2vec_end(struct word2vec *w)
{
    names_fini(&w->written);
}

void word2vec_write(struct pool_member *m, size_t table, const struct names *names, size_t dim,
                    const char *path, bool is_binary)
{
    struct saving saving;
    struct word2vec w;
    saving_open(&saving, path);
    word2vec_begin(&w, saving.file, names, names->count, dim, is_binary);
    rows_visit(m, table, 0, names->count, word2vec_put, &w);
    word2vec_end(&w);
    saving_close(&saving);
}
