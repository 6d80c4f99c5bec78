#include "ratings_read.h"

#include "fail.h"
#include "fields.h"
#include "line_parts.h"
#include "matrix_market.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what several threads read ---- */

/* Of a part of the file. Names have numbers of the part. */
struct made {
    struct rating *list;
    size_t count, capacity;
    struct names row_names, column_names;
    uint32_t *numbers;    /* of its names in the file */
    struct field *fields; /* of a row */
};

static struct rating *made_capacity(struct made *m)
{
    m->list = make_room(m->list, m->count, &m->capacity, sizeof *m->list, "ratings");
    return &m->list[m->count++];
}

/* All lines that are left; rows have so many columns. */
static void read_parts(struct line_parts *p, struct lines *of_file, size_t columns)
{
    struct lines lines = *of_file; /* those of the file are one part's meanwhile */
    unsigned count = line_parts_count(p->threads);
    struct made *made = take_memory(count, sizeof *made);
    void **each = take_memory(count, sizeof *each);
    for (unsigned i = 0; i < count; i++) {
        each[i] = &made[i];
        made[i].fields = take_memory(columns, sizeof *made[i].fields);
        names_init(&made[i].row_names);
        names_init(&made[i].column_names);
    }
    p->made = each;
    p->bytes = LINE_PARTS_BYTES;
    line_parts_run(&lines, p);
    *of_file = lines;
    for (unsigned i = 0; i < count; i++) {
        free(made[i].list);
        free(made[i].numbers);
        free(made[i].fields);
        names_fini(&made[i].row_names);
        names_fini(&made[i].column_names);
    }
    free(each);
    free(made);
}

/* ---- user, item, rating ---- */

/* The last is wanted for RATINGS_LAST alone. */
enum { USER, ITEM, RATING, WANTED, TIME = WANTED, WITHOUT_HEADING_MAX };

struct named_file {
    struct ratings *ratings;
    size_t *counter, wanted; /* of the columns the first ones, without those of ratings or not */
    const char *which;
    struct fields fields;
    size_t at[TIME + 1]; /* their columns */
};

/* What headings call them, but for capitals and what is no letter. */
static const char *const usual[TIME + 1][20] = {
    {"user", "users", "userid", "uid", "u", "customer", "customerid", "reviewer", "reviewerid",
     "row"},
    {"item",    "items",     "itemid",  "iid",    "i",      "movie", "movieid",
     "product", "productid", "book",    "bookid", "isbn",   "asin",  "song",
     "songid",  "artistid",  "animeid", "joke",   "jokeid", "column"},
    {"rating", "ratings", "r", "score", "stars", "value", "overall", "bookrating", "preference"},
    {"timestamp", "time", "date", "datetime", "ts", "unixreviewtime", "reviewtime", "unixtime"}};

/* The one column with such a name. */
static size_t usual_column(const struct fields *f, int wanted)
{
    size_t found = FIELDS_NONE;
    for (size_t i = 0; i < sizeof usual[0] / sizeof *usual[0] && usual[wanted][i]; i++) {
        size_t column = fields_column(f, usual[wanted][i], false);
        if (column == FIELDS_NONE) continue;
        if (found != FIELDS_NONE) return FIELDS_NONE;
        found = column;
    }
    return found;
}

/* Since 1970: seconds, later than 1973, or parts of seconds. */
static bool is_time(struct field f)
{
    double number;
    return lines_number(f.text, f.length, &number) && number >= 1e8 && number < 1e19;
}

static bool is_fraction(struct field f)
{
    uint64_t number;
    return !field_whole(f, 0, UINT64_MAX, &number) || memchr(f.text, '.', f.length);
}

/* Without a heading the third column has the ratings, and a fourth the times: with names of rows
 * before them, or without ratings, they would be others. */
static void check_third(const char *path, bool is_test)
{
    struct fields f;
    double number;
    bool has_ratings = false, has_fractions = false;
    fields_open(&f, path, &(struct fields_wanted){.least = WANTED});
    for (size_t i = 0; i < FIELDS_LOOKED_AT && fields_next(&f); i++) {
        struct field last = f.field[f.count - 1];
        has_ratings = has_ratings || !is_time(f.field[RATING]);
        has_fractions = has_fractions || is_fraction(f.field[RATING]);
        if (f.count > WANTED && !is_time(last) && lines_number(last.text, last.length, &number))
            lines_fail(&f.lines,
                       "\"%.*s\" is no time, as a fourth column has without a heading: give a "
                       "heading that tells which columns are user, item and rating",
                       lines_shown(last.length), last.text);
    }
    /* to test with, one of each user's is common */
    bool counts = f.counts_rows && !has_fractions && !is_test, is_empty = !f.has_begun;
    fields_close(&f);
    if (!is_empty && (counts || !has_ratings))
        fail("%s has %s: give it a heading that tells which columns are user, item and rating",
             path,
             counts ? "numbers of its rows in its first column" : "times in its third column");
}

static void find_columns(struct named_file *f)
{
    struct fields *rows = &f->fields;
    if (!rows->name && rows->form.columns > WITHOUT_HEADING_MAX)
        fail("%s has %zu columns, and no heading that tells which are %s", rows->lines.path,
             rows->form.columns, f->which);
    struct fields said;
    if (!rows->name && !f->ratings->is_implicit)
        check_third(rows->lines.path, f->counter == &f->ratings->test);
    for (size_t i = 0; fields_said(rows, &said) && i < f->wanted; i++) {
        size_t column = usual_column(&said, (int)i);
        if (column != FIELDS_NONE && column != i) fields_fail_said(rows);
    }
    for (size_t i = 0; i < f->wanted; i++) {
        f->at[i] = rows->name ? usual_column(rows, (int)i) : i;
        if (f->at[i] != FIELDS_NONE) continue;
        fail("%s: its heading does not tell which columns are %s: give them these names, or put # "
             "before it, if they are the first ones",
             rows->lines.path, f->which);
    }
}

static void find_times(struct named_file *f)
{
    const struct fields *rows = &f->fields;
    if (f->ratings->split != RATINGS_LAST) return;
    size_t last = f->ratings->is_implicit ? rows->form.columns - 1 : TIME;
    f->at[TIME] = rows->name                                       ? usual_column(rows, TIME)
                  : last >= f->wanted && last < rows->form.columns ? last
                                                                   : FIELDS_NONE;
    if (f->at[TIME] == FIELDS_NONE)
        fail("%s has no times, of which the last are to be held back: neither a column that its "
             "heading calls so nor a fourth one",
             rows->lines.path);
}

static enum ratings_form form_of(const struct named_file *f)
{
    const struct fields *rows = &f->fields;
    if (!rows->name) return RATINGS_WITHOUT_HEADING;
    for (size_t i = 0; i < f->wanted; i++)
        if (f->at[i] + rows->form.hidden != i) return RATINGS_ELSEWHERE;
    return RATINGS_FIRST;
}

/* A value that a float holds. */
static bool value_of(struct field f, float *value)
{
    double number;
    if (!lines_number(f.text, f.length, &number) || fabs(number) > (double)FLT_MAX) return false;
    *value = (float)number;
    return true;
}

static bool take_rating(const struct named_file *f, const struct field *fields, struct names *rows,
                        struct names *columns, struct rating *to)
{
    struct field user = fields[f->at[USER]], item = fields[f->at[ITEM]];
    if (fields_is_missing(&f->fields, f->at[USER], user) ||
        fields_is_missing(&f->fields, f->at[ITEM], item) ||
        (!f->ratings->is_implicit && !value_of(fields[f->at[RATING]], &to->value)))
        return false;
    if (f->ratings->is_implicit) to->value = 1;
    to->row = names_add(rows, user.text, user.length);
    to->column = names_add(columns, item.text, item.length);
    return true;
}

/* The digits of a date that begins with its year, to seconds: they grow with time if each part has
 * all of its digits. */
static bool date_of(struct field f, double *time)
{
    enum { DATE = 8, TO_SECONDS = 14 };
    int digits = 0;
    bool is_whole = f.length > DATE && f.text[4] == '-' && f.text[7] == '-';
    *time = 0;
    for (size_t i = 0; i < f.length && is_whole && digits < TO_SECONDS; i++) {
        if (f.text[i] >= '0' && f.text[i] <= '9') {
            *time = 10 * *time + (f.text[i] - '0');
            digits++;
        } else {
            is_whole = digits % 2 == 0;
        }
    }
    *time *= pow(10, TO_SECONDS - digits);
    is_whole = is_whole && digits >= DATE && digits % 2 == 0;
    return is_whole && strncasecmp(f.text + f.length - 2, "am", 2) != 0 &&
           strncasecmp(f.text + f.length - 2, "pm", 2) != 0;
}

/* What grows with time: a number, or a date. */
static double time_of(const struct named_file *f)
{
    struct field field = f->fields.field[f->at[TIME]];
    double time;
    if (!lines_number(field.text, field.length, &time) && !date_of(field, &time))
        lines_fail(&f->fields.lines,
                   "\"%.*s\" is no time: must be a number, or a date like 2004-01-31 12:00",
                   lines_shown(field.length), field.text);
    return time;
}

static _Noreturn void complain_of_row(const struct named_file *f)
{
    const struct fields *rows = &f->fields;
    if (!f->ratings->is_implicit)
        lines_take_float(&rows->lines, rows->field[f->at[RATING]], "rating");
    bool has_user = !fields_is_missing(rows, f->at[USER], rows->field[f->at[USER]]);
    lines_fail(&rows->lines, "has an empty or missing %s", has_user ? "item" : "user");
}

static bool read_row(struct named_file *f)
{
    struct ratings *r = f->ratings;
    if (!fields_next(&f->fields)) return false;
    if (!take_rating(f, f->fields.field, &r->row_names, &r->column_names, ratings_capacity(r, 1)))
        complain_of_row(f);
    if (r->times) r->times[r->train + r->test] = time_of(f);
    ++*f->counter;
    return true;
}

static void forget_names(struct names *n)
{
    if (n->count == 0) return;
    names_fini(n);
    names_init(n);
}

/* A comment may be a row: that is not for here to tell. */
static bool read_named_part(const void *file, void *made, struct lines *part)
{
    const struct named_file *f = file;
    const struct fields_form *form = &f->fields.form;
    struct made *m = made;
    m->count = 0;
    forget_names(&m->row_names);
    forget_names(&m->column_names);
    while (lines_next(part)) {
        if (part->length == 0) continue;
        bool is_row = fields_of_line(form, part, m->fields, form->columns) == form->columns &&
                      take_rating(f, m->fields + form->hidden, &m->row_names, &m->column_names,
                                  made_capacity(m));
        if (!is_row) return false;
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
    uint32_t *rows = resize_memory(m->numbers, names + 1, sizeof *rows, "names");
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
    struct named_file *f = file;
    if (is_read) {
        take_named(f, made);
        return;
    }
    struct lines all = f->fields.lines;
    f->fields.lines = *part;
    while (read_row(f)) continue;
    *part = f->fields.lines;
    f->fields.lines = all;
}

/* A row may be of several lines where it has quotation marks: then one thread reads. The first row
 * is behind the heading. */
static enum ratings_form read_named(struct ratings *r, const char *path, size_t *counter,
                                    unsigned threads)
{
    struct named_file f = {.ratings = r,
                           .counter = counter,
                           .wanted = r->is_implicit ? RATING : WANTED,
                           .which = r->is_implicit ? "user and item" : "user, item and rating"};
    struct line_parts p = {
        .threads = threads, .context = &f, .read = read_named_part, .take = take_named_part};
    fields_open(&f.fields, path, &(struct fields_wanted){.least = f.wanted});
    find_columns(&f);
    find_times(&f);
    if (threads == 1 || r->split == RATINGS_LAST || fields_has_quotes(&f.fields)) {
        while (read_row(&f)) continue;
    } else if (read_row(&f)) {
        read_parts(&p, &f.fields.lines, f.fields.form.columns);
    }
    enum ratings_form form = form_of(&f);
    fields_close(&f.fields);
    return form;
}

/* ---- MatrixMarket ---- */

struct matrix_file {
    struct ratings *ratings;
    size_t *counter;
    struct matrix_market market;
};

static bool rating_of(const struct matrix_file *f, const struct matrix_market_cell *c,
                      struct rating *to)
{
    *to = (struct rating){c->row, c->column, f->ratings->is_implicit ? 1 : (float)c->value};
    return fabs(c->value) <= (double)FLT_MAX;
}

static bool read_matrix_part(const void *file, void *made, struct lines *part)
{
    const struct matrix_file *f = file;
    struct made *m = made;
    struct matrix_market_cell cell;
    m->count = 0;
    while (lines_next(part)) {
        if (lines_is_banner(part)) return false;
        if (lines_is_passed_over(part)) continue;
        if (!matrix_market_cell(&f->market, part, &cell) || !rating_of(f, &cell, made_capacity(m)))
            return false;
    }
    return true;
}

static void take_matrix_part(void *file, void *made, struct lines *part, bool is_read)
{
    struct matrix_file *f = file;
    struct matrix_market *market = &f->market;
    const struct made *m = made;
    struct matrix_market_cell cell;
    if (is_read && m->count <= market->cells - market->read) {
        memcpy(ratings_capacity(f->ratings, m->count), m->list, m->count * sizeof *m->list);
        *f->counter += m->count;
        market->read += m->count;
        return;
    }
    struct lines all = market->lines;
    for (market->lines = *part; lines_next_data(&market->lines); ++*f->counter) {
        matrix_market_take(market, &cell);
        if (!rating_of(f, &cell, ratings_capacity(f->ratings, 1)))
            lines_fail(&market->lines, "%g is no rating: is too large for a float", cell.value);
    }
    *part = market->lines;
    market->lines = all;
}

static void read_matrix(struct ratings *r, const char *path, size_t *counter, unsigned threads)
{
    struct matrix_file f = {.ratings = r, .counter = counter};
    struct line_parts p = {
        .threads = threads, .context = &f, .read = read_matrix_part, .take = take_matrix_part};
    if (r->split == RATINGS_LAST)
        fail("%s is MatrixMarket, which has no times, of which the last are to be held back", path);
    matrix_market_open(&f.market, path, r->is_implicit ? MATRIX_PATTERN : 0);
    bool is_other = f.market.rows != r->rows || f.market.columns != r->columns;
    if (r->rows > 0 && is_other)
        lines_fail(&f.market.lines,
                   "has %u rows and %u columns, and the matrix to train with %u and %u: give both "
                   "the size of the whole matrix",
                   f.market.rows, f.market.columns, r->rows, r->columns);
    r->rows = f.market.rows;
    r->columns = f.market.columns;
    read_parts(&p, &f.market.lines, 0);
    matrix_market_end(&f.market);
    matrix_market_close(&f.market);
}

/* ---- a file ---- */

enum ratings_form ratings_read(struct ratings *r, const char *path, size_t *counter,
                               unsigned threads)
{
    enum ratings_form form = RATINGS_MATRIX;
    if (matrix_market_is(path)) {
        read_matrix(r, path, counter, threads);
    } else {
        form = read_named(r, path, counter, threads);
    }
    if (*counter == 0) fail("%s has no ratings", path);
    return form;
}
