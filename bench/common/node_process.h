/*
 * node_process.h - other nodes as processes: start them, ask them, end them.
 *
 * A node process is this program once more, started with arguments of its own (fork and exec: a
 * process that was only forked inherits locks and threads' leftovers). Questions and answers go
 * through one socket between the two, a packet each. Nobody outlives anybody: a node process ends
 * when its parent does, however that ends; and when a node process ends before it was told to, the
 * parent says so in a sentence and ends with status 1. So no benchmark hangs on a node that has
 * gone: one may end only after node_process_dismiss().
 *
 * Callers   the parent's side: one thread. The other side: one thread asks for questions and
 *           answers them
 * Memory    a thread for each node process, asleep
 * Waiting   node_process_ask() and node_process_end() to their deadlines
 * Life      node_process_start, any number of node_process_ask, node_process_dismiss,
 *           node_process_end
 */
#ifndef BENCH_NODE_PROCESS_H
#define BENCH_NODE_PROCESS_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_process;

/* What is asked. What it means is the benchmark's business, except for NODE_FIGURES. */
enum { NODE_FIGURES = 0, NODE_NUMBERS = 6 };
struct node_question {
    uint64_t what;
    uint64_t numbers[NODE_NUMBERS];
};

/* What a process has used and sent so far: two of them tell what happened between. */
struct node_figures {
    uint64_t time_ns;              /* when this was read */
    uint64_t cpu_ns;               /* of all threads */
    uint64_t switches_voluntary;   /* a thread went to sleep */
    uint64_t switches_involuntary; /* a thread lost its processor to another */
    struct locus_stats stats;      /* zero without a node */
};

/* Figures of this process. `node` may be NULL. Any thread. */
struct node_figures node_figures(const locus *node);

/* ---- The parent's side. What goes wrong ends the program with a sentence of its name. - */

/* `arguments` end with NULL; the first is argv[1] of the new process, which must recognize it
 * (node_process_is). `name` is for sentences: "node 1". Its stdout is our stderr. */
struct node_process *node_process_start(const char *name, const char *const *arguments);
void node_process_ask(struct node_process *, const struct node_question *, void *answer,
                      size_t bytes, double seconds);
struct node_figures node_process_figures(struct node_process *);
/* From now on it may end: say so before telling it to. */
void node_process_dismiss(struct node_process *);
/* Dismisses it and waits for its end, which the closing of our side of the socket brings about if
 * nothing did before. Killed, with a sentence, when it is not done after `seconds`. Its status must
 * be 0. */
void node_process_end(struct node_process *, double seconds);

/* The whole program ends with status 1 and a sentence when it is not done after `seconds`. */
void node_process_limit(double seconds);

/* A port of 127.0.0.1 that nobody used just now, outside of the range that the kernel deals out. */
unsigned node_process_port(void);

/* ---- The other side. ---- */

/* Whether this process was started as what its first argument says: for main(), first of all. */
bool node_process_is(int argc, char **argv, const char *what);
/* Waits for the next question; ends this process with status 0 when the parent has closed its side
 * or is gone. */
void node_process_question(struct node_question *);
void node_process_answer(const void *answer, size_t bytes);

#endif
