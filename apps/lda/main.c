/*
 * lda - topics of documents, by collapsed Gibbs sampling with blocks of words that rotate (STRADS,
 * Section 3.1).
 *
 * Read lda.h first (what all share), then lda_train.c (the loop), gibbs.c (a sweep), sampler.c (a
 * token) and shelf.h (a worker's documents).
 */
#include "lda_job.h"

int main(int argc, char **argv)
{
    return lda_job(argc, argv);
}
