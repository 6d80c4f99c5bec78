/*
 * npz.h - tensors as NumPy's archive: a zip file of arrays that are not compressed, which
 * numpy.load() opens, and beside them notes.json. Sizes have 64 bits everywhere.
 *
 * Callers   tensors.h, one thread
 * Memory    200 bytes a tensor
 * Waiting   for the disk
 * Life      new; declare; begin; put; end, which frees it
 */
#ifndef APPS_NPZ_H
#define APPS_NPZ_H

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

#endif
