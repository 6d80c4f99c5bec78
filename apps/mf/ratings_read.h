/*
 * ratings_read.h - a file of ratings into cells: a line a cell, "row TAB column TAB value".
 *
 * Callers   ratings_load()
 * Memory    the ratings'; while it works as much as the cells of some parts of the file
 *           (line_parts.h)
 * Waiting   for the disk, and for the threads that read
 */
#ifndef MF_RATINGS_READ_H
#define MF_RATINGS_READ_H

#include "ratings.h"

/* Adds the file's cells behind all others, and their number to the counter, which is one of the
 * ratings'. Gives up, with file and line, when it is malformed. */
void ratings_read(struct ratings *, const char *path, size_t *counter, unsigned threads);

#endif
