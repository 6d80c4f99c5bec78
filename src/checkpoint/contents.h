/*
 * contents.h - verifies and reads the contents of a checkpoint's files, as its manifest lists them.
 *
 * What is read is what was verified: a file that changes in between is found, though some of it may
 * have been given out by then.
 *
 * Memory    during a call: the numbers of a section's rows, and CONTENTS_BYTES or one row
 * Waiting   for the disk
 * Life      contents_verify of a file, then contents_rows
 *
 * Functions return 0 or a negative errno with the sentence; for -EBADMSG it says which file is
 * damaged, and where.
 */
#ifndef LOCUS_CHECKPOINT_CONTENTS_H
#define LOCUS_CHECKPOINT_CONTENTS_H

#include "checkpoint/blocks.h"
#include "checkpoint/manifest.h"

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

#endif
