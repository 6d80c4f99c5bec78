/*
 * commands.h - what `locus` can do. Each has its name and arguments in argv, and returns the exit
 * status; none is called twice.
 *
 * Memory    its own
 * Waiting   run and keep: as long as a node lives; top and explain: for nodes (scrape.h); the
 *           others: for files
 */
#ifndef LOCUS_COMMANDS_H
#define LOCUS_COMMANDS_H

#include "locus.h"

/* Starts the nodes of a cluster, shows what they print, and ends them all. 0 when all nodes
 * returned 0, else the status of the first that failed, or why nothing was started. A signal that
 * ended the run ends this process, too. */
int run_main(int argc, char **argv);
/* Runs one node's program and sees to it that nothing of it is left. argv: keeper.c. The program's
 * exit status, 128 + signal when a signal ended it. */
int keeper_main(int argc, char **argv);
/* Before a job, whether this machine will carry it; every line says what to do. 0 when nothing
 * failed. */
int doctor_main(int argc, char **argv);
/* What the nodes of a running job do, a row each, from their metrics. */
int top_main(int argc, char **argv);
/* Why a key is where it is, as the nodes of a running job say. */
int explain_main(int argc, char **argv);
/* What nodes have traced, as Chrome trace events. */
int trace_main(int argc, char **argv);
/* Lists, verifies, shows and exports checkpoints. */
int checkpoint_main(int argc, char **argv);

/* The release, as a text. */
#define VERSION_WORD(number) #number
#define VERSION_JOIN(major, minor, patch) \
    VERSION_WORD(major) "." VERSION_WORD(minor) "." VERSION_WORD(patch)
#define LOCUS_VERSION_TEXT \
    VERSION_JOIN(LOCUS_VERSION_MAJOR, LOCUS_VERSION_MINOR, LOCUS_VERSION_PATCH)

#endif
