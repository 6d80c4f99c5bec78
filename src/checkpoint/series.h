/*
 * series.h - the folder of a job's checkpoints, each in a folder of its own in it:
 *
 *     DIR/checkpoint-000007/manifest.json    written last, by rename: it is what makes it whole
 *     DIR/checkpoint-000007/...
 *
 * Callers   save.c, restore.c, `locus checkpoint`
 * Memory    the caller's
 * Waiting   for the file system
 * Life      none
 *
 * Functions return 0 or a negative errno with the sentence.
 */
#ifndef LOCUS_CHECKPOINT_SERIES_H
#define LOCUS_CHECKPOINT_SERIES_H

#include "checkpoint/manifest.h"

#include <stdbool.h>

enum { SERIES_NAME = 40, SERIES_PATH = 4096, SERIES_KEEP = 3, SERIES_KEEP_MAX = 1000000 };

/* "a/b", or -ENAMETOOLONG. */
int series_path(char path[SERIES_PATH], const char *a, const char *b);

/* A new one behind all that there are, in `dir`, which is made if its parent is there, with a token
 * for others to look for. */
int series_create(const char *dir, char name[SERIES_NAME], char nonce[MANIFEST_NONCE + 1]);
/* Is the token in it? */
int series_check(const char *path, const char *nonce);
/* What was made in it is there after a crash. */
int series_sync(const char *path);
/* The manifest is there, at once and for good; what only helped to write it is gone. */
int series_commit(const char *dir, const char *name, const struct manifest *);
/* Removes it, its manifest first; as far as it can. */
void series_remove(const char *path);

/* Whole ones in `dir`, the newest first: calls `each` with the name, until it is not 0, which is
 * returned. */
typedef int series_each(void *context, const char *name);
int series_list(const char *dir, series_each *, void *context);
/* The newest that is whole; `dir` may be one itself: then "". -ENOENT: there is none. */
int series_newest(const char *dir, char name[SERIES_NAME]);
/* Removes the older ones but for the newest `keep`, and what was never finished. */
void series_retain(const char *dir, unsigned keep);
/* How many the environment says (LOCUS_CHECKPOINTS). -EINVAL: what is there is no such number. */
int series_keeps(unsigned *keep);

#endif
