/*
 * series.h - the folder of a job's checkpoints, each in a folder of its own in it:
 *
 *     DIR/checkpoint-000007/manifest.json    written last, by rename: it is what makes it whole
 *     DIR/checkpoint-000007/...
 *
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

/* Behind a rank: the list of a node's files. */
#define SERIES_PART ".part"
enum { SERIES_NAME = 40, SERIES_PATH = 4096, SERIES_KEEP = 3, SERIES_KEEP_MAX = 1000000 };

/* "a/b", or -ENAMETOOLONG. */
int series_path(char path[SERIES_PATH], const char *a, const char *b);

/* Makes a new checkpoint after all others in `dir`, with a token that other nodes look for. `dir`
 * itself is made if its parent exists. */
int series_create(const char *dir, char name[SERIES_NAME], char nonce[MANIFEST_NONCE + 1]);
/* Is the token in it? */
int series_check(const char *path, const char *nonce);
/* Syncs it, so that its entries survive a crash. */
int series_sync(const char *path);
/* Makes the manifest visible, atomically and durably; removes what only helped to write it. */
int series_commit(const char *dir, const char *name, const struct manifest *);
/* Removes one that the caller has made, as far as possible: what locus can have written in it. */
void series_remove(const char *dir, const char *name);

/* Calls `each` with the names of the complete checkpoints in `dir`, the newest first, until it
 * returns something other than 0, which is returned. */
typedef int series_each(void *context, const char *name);
int series_list(const char *dir, series_each *, void *context);
/* The newest complete checkpoint; "" if `dir` is one itself. -ENOENT: there is none. */
int series_newest(const char *dir, char name[SERIES_NAME]);
/* The one before `name`, likewise. */
int series_older(const char *dir, char name[SERIES_NAME]);
/* Removes all but the newest `keep`, and those that were never finished: only in folders whose
 * manifest, or token, says that they are locus', only what locus can have written, and never
 * through a link. */
void series_retain(const char *dir, unsigned keep);
/* How many to keep, from the environment (LOCUS_CHECKPOINTS). -EINVAL: that is not a valid
 * number. */
int series_keeps(unsigned *keep);

#endif
