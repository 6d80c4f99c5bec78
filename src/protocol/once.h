/*
 * once.h - after a loss no write of a node that lives is done twice (README.md, "Once"): each node
 * notes what it has written for others, and tells that to whom it sends copies of rows; when it is
 * lost, they tell those whose writes these were.
 *
 * Notes of one origin are numbered, as the answers to it are, which it counts. If it lacks one, it
 * lacks all later ones of the same node, and those writes are under way: so the last
 * ONCE_WRITES_MAX notes are enough, and a shard has no more writes under way.
 *
 * Callers   the roles of one shard, on its thread
 * Memory    24 bytes for each pair of nodes; 16 KiB for each of which one has written for the other,
 *           at these two and whoever was told
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
    uint32_t *tag; /* [ONCE_WRITES_MAX] of note n at n % ONCE_WRITES_MAX; NULL: no tag is known */
    uint64_t count;
};

struct once {
    /* [nodes][nodes] of what a node has written for another: ours; what others told; and how often
     * they have answered us. [rank][rank]: the count of all that are ours. */
    struct notes *of;
    /* [nodes][nodes] notes of ours that a node has heard of another; of itself: of all */
    uint64_t *said;
    uint32_t under_way; /* writes of ours */
};

int once_init(struct shard *); /* where losses are survived by two at least: 0 or -ENOMEM */
void once_fini(struct shard *);

static inline struct notes *once_of(const struct shard *s, unsigned writer, unsigned origin)
{
    return &s->once->of[(size_t)writer * s->nodes + origin];
}

void once_note(struct shard *, const struct wire_entry *);
void once_tell_notes(struct shard *, unsigned node);

/* A write for another node is done, and its answer follows. */
static inline void once_written(struct shard *s, const struct wire_entry *e)
{
    if (s->once) once_note(s, e);
}

/* A copy of a row follows to the node. */
static inline void once_tell(struct shard *s, unsigned node)
{
    if (s->once) once_tell_notes(s, node);
}

/* From a peer. Returns NULL, or what is wrong with the message. */
const char *once_hear(struct shard *, const struct arrival *);

/* Nodes were lost (repair.h): tells others what they had written for them; all have heard that. */
void once_tell_origins(struct shard *);
void once_forget(struct shard *, unsigned lost);

#endif
