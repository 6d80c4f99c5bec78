/*
 * trace.h - the history of chosen keys on this node, for `locus trace`
 * (docs/reference/run-files.md): where the row is, whether the node intends to access it or keeps
 * it, how often it is accessed, and when workers wait for clocks.
 *
 * The environment switches tracing on when the node opens: LOCUS_TRACE=PREFIX, and
 * LOCUS_TRACE_KEYS=1,2,7-9 or sample:100. Then the shard looks at its chosen keys at the end of
 * every turn and notes what has changed. Workers do nothing for it, because what they add to rows
 * that are here shows in the rows' versions. Switched off, tracing costs the shard one branch.
 *
 * Memory    24 bytes an event, at most TRACE_EVENTS_MAX events; those that do not fit are counted
 * Waiting   never, except for the file when it closes
 * Life      trace_open, the shard's life, trace_close writes PREFIX.RANK.jsonl
 */
#ifndef LOCUS_PROTOCOL_TRACE_H
#define LOCUS_PROTOCOL_TRACE_H

#include "protocol/request.h"
#include "store/directory.h"
#include "store/keyspace.h"

struct trace;

struct trace_config {
    const struct keyspace *keyspace;
    unsigned rank, nodes, shard;
    const char *technique; /* its name */
    int64_t epoch_ns;      /* the shard's clock plus this is nanoseconds since 1970 */
};

enum trace_place { TRACE_ELSEWHERE = '.', TRACE_REPLICA = 'r', TRACE_OWNER = 'O' };

enum trace_intent { TRACE_NO_INTENT, TRACE_INTENDS, TRACE_KEEPS };

/* What the shard knows of a key. */
struct trace_view {
    char place;      /* enum trace_place */
    uint8_t intends; /* enum trace_intent */
    directory_word word;
    uint64_t term; /* of our ownership */
};

typedef struct trace_view trace_viewer(const void *context, uint64_t index);

enum { TRACE_KEYS_MAX = 1000, TRACE_EVENTS_MAX = 1 << 18 };
#define TRACE_PAUSE_NS UINT64_C(1000000) /* accesses within this time are one event */

/* *out stays NULL if nothing is traced. Returns 0; or -EINVAL, -ENOMEM, or the reason why the file
 * cannot be written, with the sentence in locus_error(). */
int trace_open(const struct trace_config *, struct trace **out);
/* A cluster of one has no shards that could trace: says so, if the environment asks for a trace. */
void trace_alone(void);
void trace_close(struct trace *, uint64_t now_ns); /* NULL is allowed */

/* Looks at the chosen keys and notes what has changed. Returns when to look again. */
uint64_t trace_look(struct trace *, uint64_t now_ns, trace_viewer *, const void *context);
/* `workers` workers of the node now wait for clocks (clocks.h). */
void trace_waits(struct trace *, uint64_t now_ns, unsigned workers);
/* The shard itself has changed a row that is here. */
void trace_wrote(struct trace *, uint64_t index);
/* A request for the key leaves for another node. */
void trace_sent(struct trace *, uint64_t index, enum request_kind);

#endif
