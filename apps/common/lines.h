/*
 * lines.h - a text file of one strict form, line by line, for parsers that name file and line when
 * they refuse one.
 *
 *     lines_open(&l, path, "row TAB column TAB value");
 *     while (lines_next(&l)) ...l.text, l.length...
 *     lines_close(&l);
 *
 * Nothing is passed over, and nothing guessed: a file without lines, a line that is empty, or has a
 * zero byte or a carriage return in it, and a byte order mark, are refused, with the form that is
 * expected and the command that converts others. What is refused in a file that is no longer what
 * it was when it was opened is said to be that; a file that becomes shorter while it is read ends
 * the program. A folder, a pipe, a socket or a device is refused, and never waited for; but "-" is
 * stdin, which is copied to a file without a name in TMPDIR, or /tmp.
 *
 * Callers   one thread for each file
 * Memory    the whole file is mapped; `text` points into it and ends without a zero byte
 * Waiting   for the disk; for the end of stdin
 */
#ifndef APPS_LINES_H
#define APPS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct lines {
    const char *path;
    const char *form; /* of a line, for people; NULL: nobody converts others, and it may be empty */
    const char *text; /* the current line, without its end */
    size_t length;
    uint64_t number;  /* from 1 */
    const char *file; /* NULL when it is empty */
    const char *next, *end;
    struct stat about; /* when it was opened */
};

/* Gives up when the file cannot be read. `path` and `form` are kept by reference. */
void lines_open(struct lines *, const char *path, const char *form);
/* The next line. One that no form has ends the program. */
bool lines_next(struct lines *);
/* The same, without looking at it. */
bool lines_step(struct lines *);
/* What is wrong with a line in any form, or NULL. */
const char *lines_fault(const struct lines *);
void lines_close(struct lines *);

/* The same file, and as far as its size and its time of change say with the same in it? */
bool lines_is_same(const struct stat *, const struct stat *);
/* "program: path was changed or replaced while it was read", and the end. */
void lines_fail_changed(const char *path) __attribute__((noreturn));
/* Continues an earlier digest with the contents of a file. */
uint64_t lines_digest(const char *path, uint64_t digest);

/* ---- parts of a line ---- */

struct field {
    const char *text;
    size_t length;
};

/* Is the line so many fields, none of them empty, with a tab between? */
bool lines_fields(const struct lines *, struct field *, size_t count);
/* The same; one that is not is refused. */
void lines_take_fields(const struct lines *, struct field *, size_t count);
/* The first line of a file of names has no other word than headings have: it is refused. */
void lines_refuse_heading(const struct lines *, const struct field *, size_t count);
/* The next word from `*at` on, with one blank between, and `*at` behind it; it is empty where there
 * are two blanks. False: the line is over. `*at` is NULL before the first one. */
bool lines_word(const struct lines *, const char **at, struct field *);

/* Is all of a field a finite number, like -12.5e-3? Then sets it. */
bool lines_number(const char *field, size_t length, double *number);
/* Is it a whole number from `least` to `most`, in digits alone? */
bool field_whole(struct field, uint64_t least, uint64_t most, uint64_t *);

/* Larger is nothing that was measured: R writes a missing number as 1e308. */
#define LINES_NUMBER_MAX 1e300
/* The number, or the end: "x" is no `what`: must be a number. A float's must fit into a float. */
double lines_take_number(const struct lines *, struct field, const char *what);
float lines_take_float(const struct lines *, struct field, const char *what);
uint64_t lines_take_whole(const struct lines *, struct field, uint64_t least, uint64_t most,
                          const char *what);

/* "program: path:line: ...", the form that is expected, and the end. */
void lines_fail(const struct lines *, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* The same of a file that is closed. `number` 0: of all of it, "program: path ...". */
void lines_fail_at(const char *path, uint64_t number, const char *form, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/* How much of a field an error message shows. */
enum { LINES_SHOWN_MAX = 60 };
static inline int lines_shown(size_t length)
{
    return length < LINES_SHOWN_MAX ? (int)length : LINES_SHOWN_MAX;
}

#endif
