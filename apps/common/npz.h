/*
 * npz.h - tensors as NumPy's archive: a zip file of arrays that are not compressed, which
 * numpy.load() opens, and beside them notes.json. Sizes have 64 bits everywhere.
 *
 * Callers   tensors.h and saved.h, one thread
 * Memory    200 bytes a tensor; of what is read a copy, the model's until saved_close()
 * Waiting   for the disk
 * Life      new; declare; begin; put; end, which frees it
 */
#ifndef APPS_NPZ_H
#define APPS_NPZ_H

#include "saved.h"
#include "saving.h"
#include "tensors.h"

struct npz *npz_new(void);
void npz_declare(struct npz *, const char *name, enum tensors_type, uint64_t rows,
                 uint64_t columns);
/* `notes`: a JSON object. */
void npz_begin(struct npz *, struct saving *, const char *notes);
/* All tensors' bytes in the order of their declaration, in portions. */
void npz_put(struct npz *, struct saving *, const void *bytes, size_t count);
void npz_end(struct npz *, struct saving *);

/* False: the file, which is open, is none. What is wrong in one ends the program, and so does an
 * array by itself, whose rows have no names. */
bool npz_open(struct saved *);

#endif
