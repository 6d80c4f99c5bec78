/*
 * saved.h - reads a model that a program has saved (tensors.h): what its notes say, and its tensors
 * where they are in the file.
 *
 * Callers   one thread opens; any thread reads
 * Memory    the mapped file and its header; names that are asked for belong to the caller
 * Waiting   for the disk. What is missing or malformed ends the program, with the file
 * Life      open; any number of looks; close
 */
#ifndef APPS_SAVED_H
#define APPS_SAVED_H

#include "lines.h"
#include "names.h"
#include "tensors.h"

enum { SAVED_TENSORS_MAX = 64, SAVED_NOTES_MAX = 16 };

struct saved_tensor {
    const char *name;
    enum tensors_type type;
    uint64_t rows, columns; /* columns 0: a vector */
    const void *values;
};

struct saved {
    struct lines file;
    struct json_t *json; /* the header: texts below point into it */
    struct saved_note {
        const char *name, *value;
    } notes[SAVED_NOTES_MAX];
    struct saved_tensor tensors[SAVED_TENSORS_MAX];
    size_t note_count, tensor_count;
};

/* `path` is kept by reference. */
void saved_open(struct saved *, const char *path);
void saved_close(struct saved *);

/* The note; NULL: there is none. */
const char *saved_note(const struct saved *, const char *name);
/* The same as a number, which must be there. */
double saved_number(const struct saved *, const char *name);

/* NULL: there is none of the name. One of another type ends the program. */
const struct saved_tensor *saved_find(const struct saved *, const char *name, enum tensors_type);
/* It must be there, with so many rows (0: any) and columns. */
const struct saved_tensor *saved_take(const struct saved *, const char *name, enum tensors_type,
                                      uint64_t rows, uint64_t columns);
/* The tensor's lines, which are `count` (0: any number) and differ; none where there is no such
 * tensor. */
void saved_names(const struct saved *, const char *name, uint64_t count, struct names *);
/* All of a tensor's rows, of which there may be as many again: reciprocal relations. NULL: none. */
void saved_row_names(const struct saved *, const struct saved_tensor *, const char *name,
                     struct names *);

/* A row of floats. */
static inline const float *saved_row(const struct saved_tensor *t, uint64_t row)
{
    return (const float *)t->values + row * (t->columns ? t->columns : 1);
}

void saved_fail(const struct saved *, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#endif
