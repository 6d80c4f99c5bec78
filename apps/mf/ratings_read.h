/*
 * ratings_read.h - a file of ratings into cells: what it may be stands in ratings.h.
 *
 * Callers   ratings_load()
 * Memory    the ratings'; while it works as much as the cells of some parts of the file
 *           (line_parts.h)
 * Waiting   for the disk, and for the threads that read
 */
#ifndef MF_RATINGS_READ_H
#define MF_RATINGS_READ_H

#include "ratings.h"

/* MatrixMarket, or rows whose columns are the first three or named elsewhere by a heading. */
enum ratings_form { RATINGS_MATRIX, RATINGS_WITHOUT_HEADING, RATINGS_FIRST, RATINGS_ELSEWHERE };

/* Adds the file's cells behind all others, and their number to the counter, which is one of the
 * ratings'. Gives up, with file and line, when it is malformed. */
enum ratings_form ratings_read(struct ratings *, const char *path, size_t *counter,
                               unsigned threads);

#endif
