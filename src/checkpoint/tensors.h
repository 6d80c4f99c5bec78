/*
 * tensors.h - rows to safetensors files, one after the other, by one writer; and what the manifest
 * says lies in files: verified, and read.
 *
 * A file has the rows of one table or of several: for each first TABLE.rows, then TABLE.keys, the
 * rows' numbers in the table. A file ends when it has TENSORS_KEYS rows of a table, or
 * TENSORS_BYTES, or when a table with a lower number comes, because a file has each table only
 * once. Each tensor begins at a multiple of 64 bytes; the padding is a tensor of its own.
 *
 * What is read is what was verified: a file that changes in between is found, though some of it may
 * have been given out by then.
 *
 * Memory    of files.h, and 8 bytes for each of TENSORS_KEYS; the list of files. To read: the
 *           numbers of a section's rows, and CONTENTS_BYTES or one row
 * Waiting   for the disk
 * Life      tensors_init, tensors_add..., tensors_end, tensors_fini; contents_verify of a file, then
 *           contents_rows
 *
 * Functions return 0 or a negative errno with the sentence; for -EBADMSG it says which file is
 * damaged, and where.
 */
#ifndef LOCUS_CHECKPOINT_TENSORS_H
#define LOCUS_CHECKPOINT_TENSORS_H

#include "checkpoint/series.h"

enum { CONTENTS_BYTES = 1 << 20, CONTENTS_ROWS = 1 << 14 };

struct contents {
    struct blocks *blocks;
    const char *folder;
    const struct manifest *manifest;
};

/* Checks that every byte of a file is unchanged, and that its rows are the tables'. */
int contents_verify(const struct contents *, const struct manifest_file *);

/* Calls `each` for all rows of a file, some of a section at a time and in order, with their numbers
 * in the table, which has them, and their values, until it fails. -EIO also when the file has
 * changed since it was verified: rows that were given out may be wrong then. */
typedef int contents_each(void *context, const struct manifest_section *, const int64_t *rows,
                          size_t count, const float *values);
int contents_rows(const struct contents *, const struct manifest_file *, contents_each *,
                  void *context);

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

int tensors_init(struct tensors *, const struct manifest *tables, const char *folder, int rank,
                 int worker);
/* One row of a table. */
int tensors_add(struct tensors *, unsigned table, uint64_t row, const float *values);
/* The last file is whole. */
int tensors_end(struct tensors *);
void tensors_fini(struct tensors *);

#endif
