/*
 * trace.h - the history of chosen keys on this node, into a file for `locus trace`
 * (docs/reference/run-files.md): where the row is, whether the node intends to access it or keeps
 * it, how often it changes and is accessed elsewhere, and when workers wait for clocks.
 *
 * The environment switches tracing on when the node opens: LOCUS_TRACE=PREFIX, and
 * LOCUS_TRACE_KEYS=1,2,7-9 or sample:100. Then shards keep their events (events.h), and a thread
 * takes those of the chosen keys from there to PREFIX.RANK.jsonl, every TRACE_PAUSE_NS. How often a
 * row has changed shows in its version.
 *
 * Callers   trace_follow and trace_take one thread, until trace_start
 * Memory    100 bytes a key
 * Waiting   for the disk: a thread of its own, trace_open; trace_close for that thread, a moment
 * Life      trace_open before the shards run, trace_follow for each of them, trace_start (or
 *           trace_take now and then), trace_close while their events are there
 */
#ifndef LOCUS_OBSERVE_TRACE_H
#define LOCUS_OBSERVE_TRACE_H

#include "protocol/events.h"
#include "store/store.h"

struct trace;

enum { TRACE_KEYS_MAX = 1000, TRACE_LINES_MAX = 1 << 20 };
#define TRACE_PAUSE_NS UINT64_C(1000000) /* accesses within this time are one line */

/* *out stays NULL if nothing is traced: a cluster of one, which says so, has no events. Returns 0;
 * or -EINVAL, -ENOMEM, or the reason why the file cannot be written, with the sentence in
 * locus_error(). */
int trace_open(const struct store *, const char *technique, struct trace **out);
void trace_follow(struct trace *, unsigned shard, const struct key_events *);
/* NULL: nothing. 0, or with the sentence. On virtual time no thread runs: take now and then. */
int trace_start(struct trace *);
void trace_take(struct trace *, uint64_t now_ns);
void trace_close(struct trace *); /* NULL is allowed */

#endif
