/*
 * fields.h - a file of rows with a separator between their fields: CSV, TSV and their like. What
 * separates, whether the first row is a heading, and which columns have numbers is found once a
 * file, from its first FIELDS_LOOKED_AT rows; what they do not tell for certain is refused, with
 * file and line. apps/common/FORMATS.md has the rules.
 *
 *     fields_open(&f, path, &(struct fields_wanted){.least = 3});
 *     while (fields_next(&f)) ...f.field[0 ... f.count - 1]...
 *     fields_close(&f);
 *
 * Several threads may read parts of the lines that are left (line_parts.h) with fields_of_line(),
 * where fields_has_quotes() says no.
 *
 * Callers   one thread for each file
 * Memory    the mapped file (lines.h), and fields of a row. A row's fields are there until the next
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef APPS_FIELDS_H
#define APPS_FIELDS_H

#include "lines.h"
#include "names.h"

enum { FIELDS_MAX = 4096, FIELDS_LOOKED_AT = 1000 };
#define FIELDS_NONE SIZE_MAX

struct fields_wanted {
    size_t least;     /* columns of a row, at least */
    bool is_loose;    /* what is behind the first `least` columns may differ from row to row, and
                      {...} at the end of a line is passed over: attributes of an edge */
    const char *name; /* a first row that has this name of a column is a heading; may be NULL */
    const struct names *known; /* a first row that has one of them is a row; or NULL */
};

/* Of a column, in the rows that were looked at, without a heading. */
enum fields_kind {
    FIELDS_EMPTY,   /* nothing but missing values */
    FIELDS_NUMBERS, /* and missing values */
    FIELDS_WORDS
};

/* How rows are cut. */
struct fields_form {
    const char *separator; /* "": blanks, however many */
    bool is_loose;
    size_t least, columns;
    size_t hidden; /* columns before the first that is shown: row names, without a name */
};

struct fields {
    struct lines lines; /* the current row's first line, for lines_fail() */
    struct fields_form form;
    struct field *field; /* of the current row */
    size_t count;        /* of them: as many in all rows, unless it is loose */
    struct field *name;  /* of each column; NULL: there is no heading */
    struct field *said;  /* likewise, where a comment before the first row names them all */
    enum fields_kind *kind;
    bool counts_rows; /* no heading, and the first column is 0, 1, ... or 1, 2, ...: of rows? */
    struct field *all;
    char *unquoted, *names; /* memory of texts with quotation marks in them, and of names */
    size_t unquoted_capacity;
    uint64_t lines_behind; /* of the row, which has line ends in quotation marks */
    bool has_begun;
    struct field first; /* of several files, the first row's line: others may have that heading */
};

/* Looks at the file, and goes before its first row. Gives up when it cannot be read, has fewer
 * columns, or is not to be understood for certain. Of an empty file fields_next() is false. */
void fields_open(struct fields *, const char *path, const struct fields_wanted *);
bool fields_next(struct fields *);
void fields_close(struct fields *);

/* The column of that name, among those shown; FIELDS_NONE: there is none. `is_exact`: capitals,
 * and what is neither letter nor digit, matter. */
size_t fields_column(const struct fields *, const char *name, bool is_exact);

/* Where there is no heading: what it would be by a comment that names all columns. False: none
 * does. It is not to be closed. */
bool fields_said(const struct fields *, struct fields *);
/* The end: that comment has another order of columns. */
_Noreturn void fields_fail_said(const struct fields *);

/* The columns that the heading calls by a usual pair of names: source and target, head and tail,
 * and so on. False: there are none. */
bool fields_ends(const struct fields *, size_t *from, size_t *to);

/* Is that field of the current row a missing value in a column of numbers? */
bool fields_is_missing(const struct fields *, size_t column, struct field);

/* Is there any quotation mark in the file? */
bool fields_has_quotes(const struct fields *);
/* The fields of a line without quotation marks, at most `max`, hidden ones included. Returns how
 * many there are, at most max + 1; 0 when it is no row: is passed over, or has to be read by
 * fields_next(), which complains. */
size_t fields_of_line(const struct fields_form *, const struct lines *, struct field *, size_t max);

#endif
