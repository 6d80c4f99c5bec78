/*
 * export.h - a checkpoint's tables as dense safetensors files, one a table.
 *
 * Memory    contents.h
 * Waiting   for files
 */
#ifndef LOCUS_RUN_EXPORT_H
#define LOCUS_RUN_EXPORT_H

#include "checkpoint/manifest.h"

/* Of the checkpoint at `path`, whose manifest it is, to the folder `out`, which is made if need be.
 * Verifies what it reads. 0, or a negative errno with the sentence. */
int export_tables(const char *path, const struct manifest *, const char *out);

#endif
