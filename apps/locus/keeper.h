/*
 * keeper.h - `locus keep`: runs one node's program and sees to it that nothing of it is left.
 *
 * Between the launcher and every program there is a keeper: on this host a child of the launcher,
 * on others what ssh starts. It hears what to run over a stream (control.h). When the stream ends,
 * for whatever reason, the launcher's death or that of the connection included, it ends the node:
 * SIGTERM, after a grace SIGKILL, until no process is left that descends from the program
 * (family.h). When the keeper dies itself, the kernel kills the program; what that had started
 * falls to the launcher.
 *
 *              program failed: at once
 *     RUNNING ------------------------------------> KILLING --- none is left ---> its status
 *        |   \                                        ^  |
 *        |    the stream ended, SIGTERM,              |  after KILL_TIMEOUT_S some cannot be
 *        |    or the program is done                  |  killed: the same
 *        +-----------------------------> ENDING ------+
 *                                           |   the grace is over, a second SIGTERM, or SIGNAL_NOW
 *                                           +--- none is left ---> the program's status
 *
 * The first failure counts for the launcher, so that one is told without delay.
 *
 * Memory    its own
 * Waiting   for the program as long as the launcher lives
 */
#ifndef LOCUS_RUN_KEEPER_H
#define LOCUS_RUN_KEEPER_H

/* argv: "keep", and the stream's descriptor unless it is stdin, in which case the program's stdin
 * is empty. Returns the program's exit status, 128 + signal when a signal ended it. */
int keeper_main(int argc, char **argv);

#endif
