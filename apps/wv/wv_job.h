/*
 * wv_job.h - a node's part of the job, from the command line to the exit status: all that wv is,
 * but for main(), so that a simulation can have several nodes in one process.
 *
 * Callers   main(), or each node of a simulation
 * Memory    the job's, until it returns
 * Waiting   for the cluster
 */
#ifndef WV_WV_JOB_H
#define WV_WV_JOB_H

/* Trains; any failure ends the program with a sentence. */
int wv_job(int argc, char **argv);

#endif
