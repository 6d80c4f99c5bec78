/*
 * libsvm.h - a file of LIBSVM lines: a label, then index:value, or field:index:value (LIBFFM), with
 * one blank between.
 *
 *     libsvm_open(&s, path, "label index:value ...");
 *     while (libsvm_next(&s))
 *         while (libsvm_pair(&s, "feature", &pair)) ...
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
    struct field label; /* of the current line: any word */
    const char *at;     /* behind what was read of it */
};

struct libsvm_pair {
    bool has_field;
    uint32_t field, index; /* at most LIBSVM_INDEX_MAX */
    struct field value;    /* for lines_take_number() or what it is */
};

/* `form` of a line, as lines_open() has it. */
void libsvm_open(struct libsvm *, const char *path, const char *form);
bool libsvm_next(struct libsvm *);
/* The next pair of the line. `what` is a feature, a word, ...: for sentences. */
bool libsvm_pair(struct libsvm *, const char *what, struct libsvm_pair *);
void libsvm_close(struct libsvm *);

#endif
