/*
 * mf - factorizes a matrix of ratings on a cluster: SGD with AdaGrad, as in the papers' experiments
 * (NuPS, Section 5.1; Lapse, Appendix A), or coordinate descent (STRADS, Section 3.2).
 *
 * Read mf.h first (what all share), then mf.c (the program), factors.c (a training step) and
 * visit.c (who visits which cells when), or coordinates.c.
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&mf_training, argc, argv);
}
