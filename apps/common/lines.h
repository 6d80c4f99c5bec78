/*
 * lines.h - a text file, line by line, for parsers that name file and line when they complain.
 *
 *     lines_open(&l, path);
 *     while (lines_next(&l)) ...l.text, l.length...
 *     lines_close(&l);
 *
 * A byte order mark before a line is skipped. A line with a zero byte is not text: the
 * program fails, as it does if the file becomes shorter while it is read. What is complained of in
 * a file that is no longer what it was when it was opened is said to be that. A folder, a pipe, a
 * socket or a device is refused, and never waited for; but "-" is stdin, and of a compressed file
 * what is in it (unpack.h).
 *
 * All formats are read by the same rules, apps/common/FORMATS.md. lines_next_data() has those about what
 * is passed over: lines of blanks, and comments, which begin with # or %.
 *
 * Callers   one thread for each file
 * Memory    the whole file is mapped; `text` points into it and ends without a zero byte
 * Waiting   for the disk
 */
#ifndef APPS_LINES_H
#define APPS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct lines {
    const char *path;
    const char *text; /* the current line, without its end, be that LF or CR LF */
    size_t length;
    uint64_t number;  /* from 1 */
    const char *file; /* NULL when it is empty */
    const char *next, *end;
    struct stat about; /* when it was opened */
    bool is_stdin, is_joined;
};

/* Several files as one: a line ends where a file does, and what is complained of names its file.
 * Returns what to open. Once in a program; the paths are kept by reference. */
const char *lines_join(const char *const *paths, size_t count);
/* Goes before the next of them behind the current line. */
bool lines_next_file(struct lines *);
/* Gives up when the file cannot be read. `path` is kept by reference. */
void lines_open(struct lines *, const char *path);
bool lines_next(struct lines *);
void lines_close(struct lines *);
/* The bytes of the byte order mark that a line begins with, or 0. Files that were put together have
 * one within, too. */
size_t lines_mark(const char *text, size_t length);
#define LINES_ZERO_BYTE "has a zero byte: is this text? Decompress it, or save it as UTF-8"

/* The same file, and as far as its size and its time of change say with the same in it? */
bool lines_is_same(const struct stat *, const struct stat *);

/* Continues an earlier digest with the contents of a file. */
uint64_t lines_digest(const char *path, uint64_t digest);

/* Is all of a field a finite number? Then sets it. */
bool lines_number(const char *field, size_t length, double *number);

/* ---- data ---- */

#define LINES_MATRIX_MARKET "%%MatrixMarket"

/* A part of a line, or of what is made of it. */
struct field {
    const char *text;
    size_t length;
};

static inline bool lines_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next line that is neither blank nor a comment. A line that ends with CR alone, and
 * MatrixMarket's banner, are neither: the program fails. */
bool lines_next_data(struct lines *);
/* The same of the current line: is it one that is not passed over? */
bool lines_is_data(const struct lines *);
/* Is the current line the first of its file that is not passed over? */
bool lines_is_first(const struct lines *);
/* Gives up where there is a carriage return within the line. */
void lines_check_end(const struct lines *);
/* Is it of blanks, or a comment? */
bool lines_is_passed_over(const struct lines *);
/* Does the line begin with MatrixMarket's banner, in capitals or not? */
bool lines_is_banner(const struct lines *);

/* The next word from `*at` on, with blanks between, and `*at` behind it. False: there is none, or a
 * comment begins, with #. */
bool lines_word(const struct lines *, const char **at, struct field *);
/* The same of a text, whose words may begin with #. */
bool lines_text_word(const struct lines *, const char **at, struct field *);

/* Is all of it a whole number from `least` to `most`? */
bool field_whole(struct field, uint64_t least, uint64_t most, uint64_t *);
/* Empty, ?, NA, NaN, NULL, None, N/A, #N/A or <NA>, in capitals or not: a missing value in a column
 * of numbers. */
bool field_is_missing(struct field);
bool field_equals(struct field, struct field);
bool field_is(struct field, const char *text);
/* The same, in capitals or not. */
bool field_is_word(struct field, const char *text);

/* Larger is nothing that was measured: R writes a missing number as 1e308. */
#define LINES_NUMBER_MAX 1e300
/* The number, or the end: "x" is no `what`: must be a number. A float's must fit into a float. */
double lines_take_number(const struct lines *, struct field, const char *what);
float lines_take_float(const struct lines *, struct field, const char *what);
uint64_t lines_take_whole(const struct lines *, struct field, uint64_t least, uint64_t most,
                          const char *what);
/* A name, or the end, where it is empty or has a line end: model files have a name a line. */
void lines_check_name(const struct lines *, struct field, const char *what);

/* "program: path:line: ..." and the end. */
void lines_fail(const struct lines *, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* "program: path was changed or replaced while it was read", and the end. */
void lines_fail_changed(const char *path) __attribute__((noreturn));

/* How much of a field an error message shows. */
enum { LINES_SHOWN_MAX = 60 };
static inline int lines_shown(size_t length)
{
    return length < LINES_SHOWN_MAX ? (int)length : LINES_SHOWN_MAX;
}

#endif
