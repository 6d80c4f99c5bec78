/*
 * journal.h - what a node counts, again and again over its life, into a file: for `locus report`
 * (docs/guides/observe.md).
 *
 * LOCUS_REPORT=PREFIX switches it on: PREFIX.RANK.report.jsonl has a line that says who writes, one
 * every JOURNAL_FIRST_NS at first and ever less often later (each time after 1/JOURNAL_FRACTION of the
 * time that has passed, once that is longer), and one when the node closes. So a short run has
 * enough lines for curves, and one of a month writes some megabytes. Values of the program's
 * (locus_report_value) are lines of their own.
 *
 * Memory    a line
 * Waiting   for the disk: a thread of its own, and journal_value; journal_close for that thread
 * Life      journal_open before the node joins, so that the caller learns of a file that cannot be
 *           written; journal_start when the node works; journal_close before it leaves
 */
#ifndef LOCUS_OBSERVE_JOURNAL_H
#define LOCUS_OBSERVE_JOURNAL_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JOURNAL_FIRST_NS UINT64_C(100000000)
enum { JOURNAL_FRACTION = 500, JOURNAL_CURVE_BYTES = 32 };

struct journal;

/* *out stays NULL if it is not switched on. 0, or a negative errno with the sentence in
 * locus_error(). */
int journal_open(unsigned rank, struct journal **out);
int journal_start(struct journal *, const locus *); /* the same results; NULL: nothing */
/* A point of a curve, on any thread. A name as journal_may_name() allows; a finite value. */
void journal_value(struct journal *, const char *curve, double value);
bool journal_may_name(const char *curve);
void journal_close(struct journal *); /* NULL is allowed */

/* Creates PREFIX.RANK.END, the prefix as `variable` has it; for traces, too. Same results. */
int journal_create(const char *variable, const char *prefix, unsigned rank, const char *end,
                   FILE **out);

#endif
