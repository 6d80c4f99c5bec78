/*
 * tensors.h - writes a model as a safetensors file: 8 bytes of length, a JSON header that says what
 * lies where, then the tensors, one after the other. Names of rows are a tensor of bytes: one name
 * a line.
 *
 *     tensors_open(&t, "model.safetensors");
 *     tensors_note(&t, "model", "complex");
 *     tensors_declare(&t, "entities", TENSORS_F32, rows, columns);
 *     tensors_begin(&t);
 *     tensors_write(&t, values, bytes);      all tensors' bytes in the order of their declaration,
 *                                            in portions
 *     tensors_close(&t);
 *
 * The file appears under its name when it is complete (saving.h).
 *
 * Callers   one thread
 * Memory    the header
 * Waiting   for the disk. Any failure ends the program with a sentence
 */
#ifndef APPS_TENSORS_H
#define APPS_TENSORS_H

#include "names.h"
#include "saving.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tensors_type { TENSORS_F32, TENSORS_F64, TENSORS_I64, TENSORS_U8, TENSORS_TYPES };
extern const struct tensors_type_about {
    const char *name;
    unsigned bytes;
} tensors_types[TENSORS_TYPES];

struct tensors {
    const char *path;
    struct saving saving;
    char *header, *notes;
    size_t header_length, notes_length;
    uint64_t declared, written;
    bool has_begun;
};

/* `path` is kept by reference. */
void tensors_open(struct tensors *, const char *path);
void tensors_note(struct tensors *, const char *name, const char *value);
void tensors_note_count(struct tensors *, const char *name, uint64_t value);
void tensors_note_number(struct tensors *, const char *name, double value);
/* columns 0: a vector of `rows`. */
void tensors_declare(struct tensors *, const char *name, enum tensors_type, uint64_t rows,
                     uint64_t columns);
/* The names of rows, a line each, if there are some. */
void tensors_declare_names(struct tensors *, const char *name, const struct names *);
void tensors_begin(struct tensors *);
void tensors_write(struct tensors *, const void *bytes, size_t count);
/* All names, one a line: text_length bytes. A line end within a name becomes a blank. */
void tensors_write_names(struct tensors *, const struct names *);
void tensors_close(struct tensors *);

#endif
