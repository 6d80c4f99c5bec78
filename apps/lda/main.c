/*
 * lda - topics of documents, by collapsed Gibbs sampling with blocks of words that rotate (STRADS,
 * Section 3.1).
 *
 * Read lda.h first (what all share), then lda.c (the program), gibbs.c (a sweep), sampler.c (a
 * token) and shelf.h (a worker's documents).
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&lda_training, argc, argv);
}
