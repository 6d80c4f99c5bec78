/*
 * kge - trains embeddings of a knowledge graph on a cluster: ComplEx and RESCAL, SGD with AdaGrad
 * and negative sampling, as in the papers' experiments (AdaPM, Appendix C).
 *
 * Read task.h first (what all share), then kge.c (the program), step.c (a training step), feed.c
 * (what the loader does) and evaluate.c.
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&kge_training, argc, argv);
}
