/*
 * run.h - `locus run`: starts the nodes of a cluster, shows what they print, and ends them all.
 *
 * Memory    its own
 * Waiting   as long as a node lives; once the end has begun, to a deadline
 */
#ifndef LOCUS_RUN_RUN_H
#define LOCUS_RUN_RUN_H

/* argv: "run", options, program. Returns the exit status: 0 when all nodes returned 0, else that of
 * the first that failed, or why nothing was started. A signal that ended the run ends this process,
 * too. */
int run_main(int argc, char **argv);

#endif
