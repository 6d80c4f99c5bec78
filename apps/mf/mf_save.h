/*
 * mf_save.h - writes the model as safetensors: factors, biases, and the names if there are any; the
 * mean is a note.
 *
 * Callers   one worker, while the others rest
 * Memory    a block of rows
 * Waiting   for rows of other nodes, and for the disk. Any failure ends the program with a sentence
 */
#ifndef MF_MF_SAVE_H
#define MF_MF_SAVE_H

#include "mf.h"

void mf_save(const struct mf *, struct pool_member *);

#endif
