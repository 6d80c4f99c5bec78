/*
 * kge - trains embeddings of a knowledge graph on a cluster: ComplEx and RESCAL, SGD with AdaGrad
 * and negative sampling, as in the papers' experiments (AdaPM, Appendix C).
 *
 * Read task.h first (what all share), then train.c (the loop), step.c (a training step), feed.c
 * (what the loader does) and evaluate.c.
 */
#include "kge_job.h"

int main(int argc, char **argv)
{
    return kge_job(argc, argv);
}
