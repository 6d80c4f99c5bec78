/*
 * mf_job.h - a node's part of the job, from the command line to the exit status: all that mf is,
 * but for main(), so that a simulation can have several nodes in one process.
 *
 * Callers   main(), or each node of a simulation
 * Memory    the job's, until it returns
 * Waiting   for the cluster
 */
#ifndef MF_MF_JOB_H
#define MF_MF_JOB_H

/* Trains; any failure ends the program with a sentence. */
int mf_job(int argc, char **argv);

#endif
