/*
 * word2vec.h - word2vec's files, text and binary, as a saved model with the tensors "inputs" and
 * "word_names".
 *
 * A line has the number of words and the dimension; then come each word, a blank, and its vector:
 * numbers with blanks between, or floats of 4 bytes. Line ends may be left out between the latter.
 * Without that line it is text, of two numbers at least, as GloVe's; if its first line has tabs, they
 * separate.
 *
 * Callers   saved_open(); one worker writes, while the others rest
 * Memory    the model's, until saved_close(); to write a block of rows
 * Waiting   for the disk, and to write for rows of other nodes
 */
#ifndef APPS_WORD2VEC_H
#define APPS_WORD2VEC_H

#include "rows.h"
#include "saved.h"

/* False: the file, which is open, does not begin as one. What is wrong behind that ends the
 * program. */
bool word2vec_open(struct saved *);

struct word2vec {
    const struct names *names;
    struct names written;
    size_t dim;
    FILE *file;
    bool is_binary;
};

/* Rows from the first to the last, `put` for each (rows.h). They have these names, again and again
 * if there are more rows, or their numbers; a blank in one becomes _, and a number follows where
 * that is the name of an earlier row. */
void word2vec_begin(struct word2vec *, FILE *, const struct names *, uint64_t rows, size_t dim,
                    bool is_binary);
void word2vec_put(void *word2vec, uint64_t row, const float *values);
void word2vec_end(struct word2vec *);
/* The first `dim` floats of the table's rows, which have these names, into a file. */
void word2vec_write(struct pool_member *, size_t table, const struct names *, size_t dim,
                    const char *path, bool is_binary);

#endif
