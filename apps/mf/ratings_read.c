#include "ratings_read.h"

#include "fail.h"
#include "line_parts.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 3, DIMENSION_MAX = 1 << 30 };

/* ---- fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t split_by_blanks(const struct lines *l, struct field *fields, size_t max)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    for (; count < max; count++) {
        while (at < end && is_blank(*at)) at++;
        if (at == end) break;
        const char *first = at;
        while (at < end && !is_blank(*at)) at++;
        fields[count] = (struct field){first, (size_t)(at - first)};
    }
    return count;
}

/* A value that a float holds. */
static bool value_of(struct field f, float *value)
{
    double number;
    if (!lines_number(f.text, f.length, &number) || fabs(number) > (double)FLT_MAX) return false;
    *value = (float)number;
    return true;
}

/* ---- what several threads read ---- */

/* Of a part of the file. Names have numbers of the part. */
struct made {
    struct rating *list;
    size_t count, capacity;
    struct names row_names, column_names;
    uint32_t *numbers; /* of its names in the file */
};

static struct rating *made_capacity(struct made *m)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity ? m->capacity * 2 : 1024;
        struct rating *larger = realloc(m->list, m->capacity * sizeof *larger);
        if (!larger) fail("%zu ratings find no memory", m->capacity);
        m->list = larger;
    }
    return &m->list[m->count++];
}

static void read_parts(struct line_parts *p, struct lines *l)
{
    unsigned count = line_parts_count(p->threads);
    struct made *made = take_memory(count, sizeof *made);
    void **each = take_memory(count, sizeof *each);
    for (unsigned i = 0; i < count; i++) {
        each[i] = &made[i];
        names_init(&made[i].row_names);
        names_init(&made[i].column_names);
    }
    p->made = each;
    p->bytes = LINE_PARTS_BYTES;
    line_parts_run(l, p);
    for (unsigned i = 0; i < count; i++) {
        free(made[i].list);
        free(made[i].numbers);
        names_fini(&made[i].row_names);
        names_fini(&made[i].column_names);
    }
    free(each);
    free(made);
}

/* ---- user, item, rating ---- */

/* What stands between the fields of a file: the first of these that is twice in its first line, or
 * blanks, however many. */
static const char *const separators[] = {"\t", "::", ",", ";", NULL};

static const char *separator_of(const struct lines *l)
{
    const char *end = l->text + l->length;
    for (const char *const *s = separators; *s; s++) {
        size_t length = strlen(*s);
        const char *first = memmem(l->text, l->length, *s, length);
        if (first && memmem(first + length, (size_t)(end - first) - length, *s, length)) return *s;
    }
    return NULL;
}

/* Without the blanks around it, and the quotation marks around all of it. */
static struct field trimmed(const char *text, const char *end)
{
    while (text < end && is_blank(*text)) text++;
    while (end > text && is_blank(end[-1])) end--;
    if (end > text && *text == '"') {
        if (end - text < 2 || end[-1] != '"' || memchr(text + 1, '"', (size_t)(end - text) - 2))
            return (struct field){NULL, (size_t)(end - text)};
        text++;
        end--;
    }
    return (struct field){text, (size_t)(end - text)};
}

/* The first fields of the line; returns how many there are, at most FIELDS_MAX. */
static size_t split_by(const struct lines *l, const char *separator, struct field *fields)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t length = strlen(separator);
    for (size_t count = 0;;) {
        const char *stop = memmem(at, (size_t)(end - at), separator, length);
        fields[count++] = trimmed(at, stop ? stop : end);
        if (!stop || count == FIELDS_MAX) return count;
        at = stop + length;
    }
}

/* Words where ratings will be; not a rating with something wrong about it. */
static bool is_heading(struct field f)
{
    char text[LINES_SHOWN_MAX], *end;
    if (f.length == 0 || memchr("+-.0123456789", *f.text, sizeof "+-.0123456789" - 1)) return false;
    if (f.length >= sizeof text) return true;
    memcpy(text, f.text, f.length);
    text[f.length] = '\0';
    strtod(text, &end);
    return *end != '\0'; /* nan, infinity: numbers, but no ratings */
}

static bool is_comment(const struct lines *l)
{
    return l->text[0] == '%' || l->text[0] == '#';
}

struct named_line {
    struct field fields[FIELDS_MAX];
    size_t count;
    float value;
};

/* A line of nothing, a rating, or something else. */
enum kind { EMPTY, RATING, WRONG };

static enum kind split_named(struct named_line *n, const struct lines *l, const char *separator)
{
    struct field *f = n->fields;
    if (l->length == 0) return EMPTY;
    n->count = separator ? split_by(l, separator, f) : split_by_blanks(l, f, FIELDS_MAX);
    if (n->count == 0 || (n->count == 1 && f[0].length == 0)) return EMPTY;
    for (size_t i = 0; i < n->count; i++)
        if (!f[i].text) return WRONG;
    bool is_rating = n->count == FIELDS_MAX && value_of(f[2], &n->value) && f[0].length > 0 &&
                     f[1].length > 0;
    return is_rating ? RATING : WRONG;
}

/* Returns when it is a heading. */
static void complain_of_named(const struct named_line *n, const struct lines *l, bool is_first)
{
    const struct field *f = n->fields;
    float value;
    for (size_t i = 0; i < n->count; i++)
        if (!f[i].text) lines_fail(l, "has a quotation mark that is not around a whole field");
    if (n->count < FIELDS_MAX)
        lines_fail(l, "has %zu field%s; a rating has user, item and rating", n->count,
                   n->count == 1 ? "" : "s");
    if (value_of(f[2], &value)) lines_fail(l, "has an empty %s", f[0].length ? "item" : "user");
    if (!is_first || !is_heading(f[2]))
        lines_fail(l, "\"%.*s\" is no rating: must be a number", lines_shown(f[2].length),
                   f[2].text);
}

struct named_file {
    struct ratings *ratings;
    size_t *counter;
    const char *separator;
    bool has_begun; /* no more comments, no heading */
    bool has_separator;
};

static struct rating named_rating(const struct named_line *n, struct names *rows,
                                  struct names *columns)
{
    return (struct rating){.row = names_add(rows, n->fields[0].text, n->fields[0].length),
                           .column = names_add(columns, n->fields[1].text, n->fields[1].length),
                           .value = n->value};
}

static void read_named(struct named_file *f, const struct lines *l)
{
    struct ratings *r = f->ratings;
    struct named_line n;
    if (l->length == 0 || (!f->has_begun && is_comment(l))) return;
    if (!f->has_separator) f->separator = separator_of(l);
    f->has_separator = true;
    enum kind kind = split_named(&n, l, f->separator);
    if (kind == EMPTY) return;
    if (kind == WRONG) complain_of_named(&n, l, !f->has_begun);
    f->has_begun = true;
    if (kind == WRONG) return;
    *ratings_capacity(r, 1) = named_rating(&n, &r->row_names, &r->column_names);
    ++*f->counter;
}

static void forget_names(struct names *n)
{
    if (n->count == 0) return;
    names_fini(n);
    names_init(n);
}

static bool read_named_part(const void *file, void *made, struct lines *part)
{
    const struct named_file *f = file;
    struct made *m = made;
    struct named_line n;
    m->count = 0;
    forget_names(&m->row_names);
    forget_names(&m->column_names);
    while (lines_next(part)) {
        enum kind kind = split_named(&n, part, f->separator);
        if (kind == WRONG) return false;
        if (kind == RATING) *made_capacity(m) = named_rating(&n, &m->row_names, &m->column_names);
    }
    return true;
}

/* Their numbers in the file, in the order in which they come in the part: the file's. */
static void number_names(uint32_t *numbers, const struct names *of_part, struct names *all)
{
    for (uint32_t i = 0; i < of_part->count; i++) {
        const char *name = names_get(of_part, i);
        numbers[i] = names_add(all, name, strlen(name));
    }
}

static void take_named(struct named_file *f, struct made *m)
{
    struct ratings *r = f->ratings;
    size_t names = (size_t)m->row_names.count + m->column_names.count;
    uint32_t *rows = realloc(m->numbers, (names + 1) * sizeof *rows);
    if (!rows) fail("%zu names find no memory", names);
    m->numbers = rows;
    uint32_t *columns = rows + m->row_names.count;
    number_names(rows, &m->row_names, &r->row_names);
    number_names(columns, &m->column_names, &r->column_names);
    struct rating *to = ratings_capacity(r, m->count);
    for (size_t i = 0; i < m->count; i++) {
        to[i] = m->list[i];
        to[i].row = rows[to[i].row];
        to[i].column = columns[to[i].column];
    }
    *f->counter += m->count;
}

static void take_named_part(void *file, void *made, struct lines *part, bool is_read)
{
    if (is_read) {
        take_named(file, made);
    } else {
        while (lines_next(part)) read_named(file, part);
    }
}

/* From the current line on. What the fields have between them stands in the first. */
static void read_all_named(struct ratings *r, struct lines *l, size_t *counter, unsigned threads)
{
    struct named_file f = {.ratings = r, .counter = counter};
    struct line_parts p = {
        .threads = threads, .context = &f, .read = read_named_part, .take = take_named_part};
    read_named(&f, l);
    while (!f.has_begun && lines_next(l)) read_named(&f, l);
    read_parts(&p, l);
}

/* ---- MatrixMarket ---- */

static void check_banner(const struct lines *l)
{
    char object[32], format[32], field[32], symmetry[32], banner[256];
    if (l->length >= sizeof banner) lines_fail(l, "is longer than a MatrixMarket banner");
    memcpy(banner, l->text, l->length);
    banner[l->length] = '\0';
    if (sscanf(banner + sizeof RATINGS_MATRIX_MARKET - 1, "%31s %31s %31s %31s", object, format,
               field, symmetry) != 4)
        lines_fail(l, "is no MatrixMarket banner: must be \"%s matrix coordinate real general\"",
                   RATINGS_MATRIX_MARKET);
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        lines_fail(l, "is \"%s %s\": must be \"matrix coordinate\"", object, format);
    if (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        lines_fail(l, "has \"%s\" values: must be real or integer", field);
    if (strcasecmp(symmetry, "general") != 0) lines_fail(l, "is \"%s\": must be general", symmetry);
}

static bool index_of(struct field f, double least, double most, uint64_t *index)
{
    double value;
    if (!lines_number(f.text, f.length, &value) || value < least || value > most ||
        value > floor(value))
        return false;
    *index = (uint64_t)value;
    return true;
}

static uint64_t read_index(const struct lines *l, struct field f, double least, double most,
                           const char *what)
{
    uint64_t index;
    if (!index_of(f, least, most, &index))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %.0f to %.0f",
                   lines_shown(f.length), f.text, what, least, most);
    return index;
}

/* One more than there may be is looked for. */
static void split_numbers(const struct lines *l, struct field *fields, const char *wanted)
{
    size_t count = split_by_blanks(l, fields, FIELDS_MAX + 1);
    if (count < FIELDS_MAX)
        lines_fail(l, "has %zu number%s; %s", count, count == 1 ? "" : "s", wanted);
    if (count > FIELDS_MAX) lines_fail(l, "has more than 3 numbers; %s", wanted);
}

struct matrix_file {
    struct ratings *ratings;
    size_t *counter;
    uint64_t rows, columns, cells; /* declared */
};

static bool cell_of(const struct lines *l, const struct matrix_file *f, struct rating *cell)
{
    struct field fields[FIELDS_MAX + 1];
    uint64_t row, column;
    if (split_by_blanks(l, fields, FIELDS_MAX + 1) != FIELDS_MAX ||
        !value_of(fields[2], &cell->value) || !index_of(fields[0], 1, (double)f->rows, &row) ||
        !index_of(fields[1], 1, (double)f->columns, &column))
        return false;
    cell->row = (uint32_t)row - 1;
    cell->column = (uint32_t)column - 1;
    return true;
}

static _Noreturn void complain_of_cell(const struct lines *l, const struct matrix_file *f)
{
    struct field fields[FIELDS_MAX + 1];
    float value;
    split_numbers(l, fields, "a cell has row, column and value");
    if (!value_of(fields[2], &value))
        lines_fail(l, "\"%.*s\" is no value: must be a number", lines_shown(fields[2].length),
                   fields[2].text);
    if (*f->counter < f->cells) {
        read_index(l, fields[0], 1, (double)f->rows, "row");
        read_index(l, fields[1], 1, (double)f->columns, "column");
    }
    lines_fail(l, "there are more cells than the %" PRIu64 " declared", f->cells);
}

static void read_cell(struct matrix_file *f, const struct lines *l)
{
    struct rating cell;
    if (!cell_of(l, f, &cell) || *f->counter == f->cells) complain_of_cell(l, f);
    *ratings_capacity(f->ratings, 1) = cell;
    ++*f->counter;
}

static void read_shape(struct matrix_file *f, const struct lines *l)
{
    struct field fields[FIELDS_MAX + 1];
    struct ratings *r = f->ratings;
    split_numbers(l, fields, "a size has rows, columns and cells");
    f->rows = read_index(l, fields[0], 1, DIMENSION_MAX, "number of rows");
    f->columns = read_index(l, fields[1], 1, DIMENSION_MAX, "number of columns");
    f->cells = read_index(l, fields[2], 0, 0x1p40, "number of cells");
    if (f->rows > r->rows) r->rows = (uint32_t)f->rows;
    if (f->columns > r->columns) r->columns = (uint32_t)f->columns;
}

/* Of blanks, or a comment. */
static bool is_passed_over(const struct lines *l)
{
    struct field field;
    return split_by_blanks(l, &field, 1) == 0 || l->text[0] == '%';
}

static bool read_matrix_part(const void *file, void *made, struct lines *part)
{
    struct made *m = made;
    struct rating cell;
    m->count = 0;
    while (lines_next(part)) {
        if (is_passed_over(part)) continue;
        if (!cell_of(part, file, &cell)) return false;
        *made_capacity(m) = cell;
    }
    return true;
}

static void take_matrix_part(void *file, void *made, struct lines *part, bool is_read)
{
    struct matrix_file *f = file;
    const struct made *m = made;
    if (is_read && m->count <= f->cells - *f->counter) {
        memcpy(ratings_capacity(f->ratings, m->count), m->list, m->count * sizeof *m->list);
        *f->counter += m->count;
        return;
    }
    while (lines_next(part))
        if (!is_passed_over(part)) read_cell(f, part);
}

static void read_matrix(struct ratings *r, struct lines *l, size_t *counter, unsigned threads)
{
    struct matrix_file f = {.ratings = r, .counter = counter};
    struct line_parts p = {
        .threads = threads, .context = &f, .read = read_matrix_part, .take = take_matrix_part};
    check_banner(l);
    while (f.rows == 0 && lines_next(l))
        if (!is_passed_over(l)) read_shape(&f, l);
    if (f.rows == 0) lines_fail(l, "the file ends before its size: rows, columns and cells");
    read_parts(&p, l);
    if (*counter < f.cells)
        lines_fail(l, "the file ends after %zu of %" PRIu64 " cells", *counter, f.cells);
}

/* ---- a file ---- */

static bool begins_matrix(const struct lines *l)
{
    size_t length = sizeof RATINGS_MATRIX_MARKET - 1;
    return l->length >= length && strncasecmp(l->text, RATINGS_MATRIX_MARKET, length) == 0;
}

bool ratings_read(struct ratings *r, const char *path, size_t *counter, unsigned threads)
{
    struct lines l;
    lines_open(&l, path);
    bool has_lines = lines_next(&l), is_matrix = has_lines && begins_matrix(&l);
    if (is_matrix) {
        read_matrix(r, &l, counter, threads);
    } else if (has_lines) {
        read_all_named(r, &l, counter, threads);
    }
    lines_close(&l);
    if (*counter == 0) fail("%s has no ratings", path);
    return is_matrix;
}
