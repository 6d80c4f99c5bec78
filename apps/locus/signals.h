/*
 * signals.h - signals as bytes in a pipe, for a loop that polls.
 *
 * What this process was started to ignore (SIGHUP under nohup, SIGINT behind `&` in a script) stays
 * ignored, here and in the programs that it starts. Handlers end with exec: programs start with
 * what this process started with.
 *
 * Callers   a process's only thread
 * Memory    static; one pipe
 * Waiting   never
 * Life      signals_open, once
 */
#ifndef LOCUS_RUN_SIGNALS_H
#define LOCUS_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* The launcher to a keeper: end the node; now; if it is stopped. The kernel says the first when the
 * launcher dies. */
enum { SIGNAL_END = SIGUSR1, SIGNAL_NOW = SIGUSR2, SIGNAL_OVER = SIGURG };

/* From now on SIGINT, SIGTERM, SIGHUP and SIGCHLD are told by the pipe, whose end to poll it
 * returns, or -1 with errno. SIGPIPE is nothing any more: writing returns EPIPE. A blocked write()
 * is ended by any of them with EINTR. */
int signals_open(void);
/* A keeper: those as well, even if this process was started to ignore them. */
void signals_hear_launcher(void);
/* The next one that has come, 0 for none. */
int signals_next(void);
/* Has one come that asks us to end? For who waits elsewhere than at the pipe. */
bool signals_want_end(void);

/* Around fork(): no handler of ours runs in the child, which undoes both before exec. */
void signals_block(void);
void signals_unblock(void);
/* In a child: back to what they do by themselves. */
void signals_default(void);

#endif
