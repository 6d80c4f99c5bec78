/*
 * lasso_job.h - a node's part of the job, from the command line to the exit status: all that lasso
 * is, but for main(), so that a simulation can have several nodes in one process.
 *
 * Callers   main(), or each node of a simulation
 * Memory    the job's, until it returns
 * Waiting   for the cluster
 */
#ifndef LASSO_LASSO_JOB_H
#define LASSO_LASSO_JOB_H

/* Any failure ends the program with a sentence. */
int lasso_job(int argc, char **argv);

#endif
