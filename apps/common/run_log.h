/*
 * run_log.h - a program's report of its run, in addition to the nodes' counters: its settings, and
 * curves such as the loss. For the page of --report, and for `locus report` (docs/guides/observe.md).
 *
 * With --report FILE.html the nodes write to FILE.html.parts.*, unless LOCUS_REPORT names another
 * place; at the end rank 0 makes the page of them and, if the place was ours, removes those that
 * are on its host. With LOCUS_REPORT alone they stay, and there is no page. Who fails leaves the
 * parts, and says how the page is made of them; who is started again begins them anew.
 *
 * Callers   the first worker of rank 0 adds points. One run a process
 * Memory    a path
 * Waiting   for the disk. What cannot be written ends the program with a sentence
 * Life      run_log_place before the node opens; run_log_open; points; run_log_close when the node
 *           has closed: then all nodes have written all they have
 */
#ifndef APPS_RUN_LOG_H
#define APPS_RUN_LOG_H

#include <stdbool.h>

/* `page`: the file, or NULL. `has_nodes`: there will be one, which is to write. */
void run_log_place(const char *page, bool has_nodes);
/* On each node, of `size`. The job was started again so often. */
void run_log_open(int rank, int size, unsigned long restarts);
/* A point of the curve of that name, now. Nothing, where nobody wants it. */
void run_log_point(const char *curve, double y);
void run_log_close(void);

#endif
