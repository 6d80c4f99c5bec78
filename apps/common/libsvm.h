/*
 * libsvm.h - a file of LIBSVM lines: a label, then index:value, or field:index:value (LIBFFM), with
 * blanks between. What follows # is a comment. apps/common/FORMATS.md has the rules.
 *
 *     libsvm_open(&s, path);
 *     while (libsvm_next(&s))
 *         while (libsvm_pair(&s, &pair)) ...
 *     libsvm_close(&s);
 *
 * Callers   one thread for each file
 * Memory    the mapped file (lines.h)
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef APPS_LIBSVM_H
#define APPS_LIBSVM_H

#include "lines.h"

enum { LIBSVM_INDEX_MAX = (1 << 30) - 1 };

struct libsvm {
    struct lines lines;
    struct field label; /* of the current line: any word without a colon */
    const char *at;     /* behind what was read of it */
};

struct libsvm_pair {
    bool has_field;
    uint32_t field, index; /* at most LIBSVM_INDEX_MAX */
    struct field value;    /* not empty; for lines_take_number() or what it is */
};

/* Gives up when the file cannot be read, or is MatrixMarket. */
void libsvm_open(struct libsvm *, const char *path);
/* The next line that has data. */
bool libsvm_next(struct libsvm *);
/* The next pair of the line. `what` is a feature, a word, ...: for sentences. */
bool libsvm_pair(struct libsvm *, const char *what, struct libsvm_pair *);
void libsvm_close(struct libsvm *);

/* Complains of what makes a line no such line, or of its label where that has to be a number. */
void libsvm_complain(const struct lines *);
/* Whether a line is one: a label, and nothing but pairs with numbers behind it. */
bool libsvm_is_line(const struct lines *);

#endif
