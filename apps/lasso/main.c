/*
 * lasso - linear regression with few coefficients, by scheduled coordinate descent
 * (STRADS, Section 3.3).
 *
 * Read lasso.h first (what all share), then descent.c (the loop), rounds.c (the scheduler and ports)
 * and choice.c (the filter).
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&lasso_training, argc, argv);
}
