/*
 * vectors.h - writes the word vectors: as safetensors, and in the text and binary formats of
 * word2vec (a line with the number of words and the dimension; then each word, a space, and its
 * vector).
 *
 * Callers   one worker, while the others rest
 * Memory    a block of rows
 * Waiting   for rows of other nodes, and for the disk. Any failure ends the program with a sentence
 */
#ifndef WV_VECTORS_H
#define WV_VECTORS_H

#include "wv.h"

void vectors_write_tensors(const struct wv *, struct pool_member *, const char *path);
void vectors_write_text(const struct wv *, struct pool_member *, const char *path);
void vectors_write_binary(const struct wv *, struct pool_member *, const char *path);

#endif
