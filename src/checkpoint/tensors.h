/*
 * tensors.h - rows to safetensors files, one after the other, by one writer.
 *
 * A file has the rows of one table or of several: for each first TABLE.rows, then TABLE.keys, the
 * rows' numbers in the table. A file ends when it has TENSORS_KEYS rows of a table, or
 * TENSORS_BYTES, or when a table with a lower number comes, because a file has each table only
 * once. Each tensor begins at a multiple of 64 bytes; the padding is a tensor of its own.
 *
 * Memory    of blocks.h, and 8 bytes for each of TENSORS_KEYS; the list of files
 * Waiting   for the disk
 * Life      tensors_init, tensors_add..., tensors_end, tensors_fini
 */
#ifndef LOCUS_CHECKPOINT_TENSORS_H
#define LOCUS_CHECKPOINT_TENSORS_H

#include "checkpoint/blocks.h"
#include "checkpoint/manifest.h"
#include "checkpoint/series.h"

enum { TENSORS_KEYS = MANIFEST_ROWS_MAX, TENSORS_ALIGNMENT = 64 };
#define TENSORS_BYTES (UINT64_C(4000) << 20)

struct tensors {
    const struct manifest *tables; /* what rows there are; not its files */
    struct manifest files;         /* what was written; the caller may take them */
    const char *folder;
    int rank, worker;
    unsigned number; /* of files so far */
    struct blocks blocks;
    bool is_open; /* a file is: the last of `files` */
    unsigned table;
    uint64_t at, rows; /* the file's end; rows of `table` in it */
    uint64_t rows_at;
    int64_t *keys;
    uint64_t keys_max, bytes_max; /* the limits; a test lowers them */
};

/* All return 0 or a negative errno with the sentence. */
int tensors_init(struct tensors *, const struct manifest *tables, const char *folder, int rank,
                 int worker);
/* One row of a table. */
int tensors_add(struct tensors *, unsigned table, uint64_t row, const float *values);
/* The last file is whole. */
int tensors_end(struct tensors *);
void tensors_fini(struct tensors *);

#endif
