/*
 * word2vec.h - word2vec's files, text and binary, as a saved model: the tensors "inputs" and
 * "word_names" are the file's, "outputs", which such files leave out, are zeros.
 *
 * A line has the number of words and the dimension; then come each word, a blank, and its vector:
 * numbers with blanks between, or floats of 4 bytes. Line ends may be left out between the latter.
 *
 * Callers   saved_open()
 * Memory    the model's, until saved_close()
 * Waiting   for the disk
 */
#ifndef APPS_WORD2VEC_H
#define APPS_WORD2VEC_H

#include "saved.h"

/* False: the file, which is open, does not begin as one. What is wrong behind that ends the
 * program. */
bool word2vec_open(struct saved *);

#endif
