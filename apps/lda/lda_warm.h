/*
 * lda_warm.h - the first topics of tokens by a saved model: --from. Each token is drawn by how
 * likely its word is in each topic, of words of the same name; topics stay what they were.
 *
 * Callers   every worker, before topics are counted in rows
 * Memory    the model's names, for the call
 * Waiting   for the disk. What does not fit ends the program
 */
#ifndef LDA_LDA_WARM_H
#define LDA_LDA_WARM_H

#include "shelf.h"

void lda_warm(struct shelf *, const char *path);

#endif
