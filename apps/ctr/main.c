/*
 * ctr - foretells clicks on a cluster: Wide & Deep with AdaGrad, as in AdaPM's experiments
 * (Appendix C).
 *
 * Read ctr.h first (what all share), then ctr.c (the program), wide_deep.c (a training step),
 * click_batch.c (who trains with which examples) and clicks_read.c.
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&ctr_training, argc, argv);
}
