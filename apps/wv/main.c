/*
 * wv - trains word vectors on a cluster: skip-gram with negative sampling, as the original word2vec
 * (Mikolov et al., 2013) and as in the papers' experiments (NuPS, Section 5.1).
 *
 * Read wv.h first (what all share), then wv.c (the program), skipgram.c (a training step) and
 * windows.c (what the loader does).
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&wv_training, argc, argv);
}
