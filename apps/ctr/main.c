/*
 * ctr - foretells clicks on a cluster: Wide & Deep with AdaGrad, as in AdaPM's experiments
 * (Appendix C).
 *
 * Read ctr.h first (what all share), then ctr_train.c (the loop), wide_deep.c (a training step),
 * click_feed.c (who trains with which examples) and clicks_read.c.
 */
#include "ctr_job.h"

int main(int argc, char **argv)
{
    return ctr_job(argc, argv);
}
