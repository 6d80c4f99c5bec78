/*
 * once.h - after a loss no write of a node that lives is done twice (README.md, "A node is lost").
 *
 * Who was lost may have done a write of another node, its origin, which has not got the answer and
 * would ask again; and the write may live on in a copy of the row. So each node notes what it
 * writes for others, and before it sends a copy of any row to a third node, it tells that one all
 * notes that it has not heard yet. When the node is lost, those who were told tell the origins,
 * which do not ask for these writes again.
 *
 * The notes of an origin are numbered as the answers to it: these come in the order of the writes,
 * and it counts them. So it knows of which notes it has the answers; their tags may name other
 * requests by now. And if it lacks one answer, it lacks all later ones of the same node, and has
 * these writes under way, of which a shard has at most ONCE_WRITES_MAX. So the last
 * ONCE_WRITES_MAX notes of each origin are enough, at every node.
 *
 * Callers   the roles of one shard, on its thread
 * Memory    24 bytes for each pair of nodes; 16 KiB for each of which one has written for the other,
 *           and a third has heard of it, or is the one
 * Waiting   never
 * Life      once_init after loss_init, any use, once_fini
 */
#ifndef LOCUS_PROTOCOL_ONCE_H
#define LOCUS_PROTOCOL_ONCE_H

#include "protocol/shard.h"

#ifdef LOCUS_FIBERS
enum { ONCE_WRITES_MAX = 8 };
#else
enum { ONCE_WRITES_MAX = 4096 };
#endif

struct notes {
    uint32_t *tag; /* [ONCE_WRITES_MAX] note `number` is at number % ONCE_WRITES_MAX; NULL: none */
    uint64_t count;
};

struct once {
    struct notes *of;   /* [nodes][nodes] what a node, which may be we, has written for another */
    uint64_t *said;     /* [nodes][nodes] notes of ours that a node has heard, of an origin */
    uint64_t *answers;  /* [nodes] to writes of ours that have come from each */
    uint64_t written;   /* notes of ours */
    uint64_t *heard;    /* [nodes] the same when each was told last */
    uint32_t under_way; /* writes of ours that others were asked for */
};

int once_init(struct shard *); /* where losses are survived by two at least: 0 or -ENOMEM */
void once_fini(struct shard *);

/* ---- who writes for others ---- */

/* The write is done, and its answer follows. */
void once_written(struct shard *, const struct wire_entry *);
/* A copy of a row follows to this node. */
void once_tell_notes(struct shard *, unsigned node);
static inline void once_tell(struct shard *s, unsigned node)
{
    if (s->once && s->once->heard[node] != s->once->written) once_tell_notes(s, node);
}
/* From peers. Returns NULL, or what is wrong with the message. */
const char *once_hear(struct shard *, const struct arrival *);

/* ---- who asks others to write ---- */

static inline bool once_may_ask(const struct shard *s, enum request_kind kind)
{
    return !s->once || s->once->under_way < ONCE_WRITES_MAX || !request_writes(kind);
}
/* One more is under way, or one less. */
static inline void once_asks(struct shard *s, enum request_kind kind, bool more)
{
    if (s->once && request_writes(kind)) s->once->under_way += more ? 1 : UINT32_MAX;
}
static inline void once_answered(struct shard *s, enum request_kind kind, unsigned peer)
{
    if (s->once && request_writes(kind)) s->once->answers[peer]++;
}

/* ---- a node was lost (repair.h) ---- */

/* Tells each origin what the lost node had done for it. */
void once_tell_origins(struct shard *);
/* All have heard that: forgets the lost node. */
void once_forget(struct shard *);

#endif
