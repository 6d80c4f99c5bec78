/*
 * sources.h - the nodes from which a shard holds replicas: when each was last heard of, and whether
 * its replicas may still answer (staleness_s of the configuration).
 *
 * Every frame from a node counts, including heartbeats. With a bound on staleness, a replica
 * answers no pull if its source was silent for longer than the bound. Workers check a single time
 * for all replicas of a shard, `fresh_until_ns`, which follows from the source that has been silent
 * longest. After that time they ask the shard, which knows the key's own source: it serves the
 * pull, or lets it wait until the owner has sent the row (origin.c, replica.c). It asks with a sync
 * and not with a WIRE_PULL, so that the answer keeps what workers have added to the replica and the
 * owner does not have yet.
 *
 * Callers   the shard's thread; sources_are_fresh any
 * Memory    16 bytes a node
 * Waiting   never
 * Life      sources_init, any use, sources_fini
 */
#ifndef LOCUS_PROTOCOL_SOURCES_H
#define LOCUS_PROTOCOL_SOURCES_H

#include "protocol/location.h"
#include "protocol/shard.h"

struct source {
    uint64_t heard_ns; /* last frame, or when the first replica came */
    uint64_t replicas;
};

struct sources {
    struct source *source; /* [nodes] */
    uint64_t bound_ns;     /* 0: replicas answer however old they are; without what copies lag */
    /* atomic, written by this thread: workers may read any replica here until then */
    uint64_t fresh_until_ns __attribute__((aligned(64)));
} __attribute__((aligned(64)));

int sources_init(struct shard *, uint64_t bound_ns); /* 0 or -ENOMEM */
void sources_fini(struct shard *);

/* A replica from the node begins, ends. */
void sources_add(struct shard *, unsigned node);
void sources_remove(struct shard *, unsigned node);
/* A frame or heartbeat arrived from the node: records how old its replicas had become. Called
 * before the frame is served. */
void sources_heard(struct shard *, unsigned node);
/* Tells workers; called after the frame was served. */
void sources_publish(struct shard *);

/* The source of the key's replica; `record` may be NULL if every node holds every row. */
static inline const struct source *source_of(const struct shard *s, const struct record *record,
                                             struct location l)
{
    return &s->sources->source[record && !shard_is_full(s) ? record->source : l.owner];
}

/* Is it too old to answer? */
static inline bool source_is_silent(const struct shard *s, const struct record *record,
                                    struct location l)
{
    const struct sources *all = s->sources;
    return all->bound_ns > 0 && l.is_replica &&
           s->now_ns > source_of(s, record, l)->heard_ns + all->bound_ns;
}

/* May all replicas of the shard be read at that time? Asked before reading one. */
static inline bool sources_are_fresh(const struct sources *all, uint64_t now_ns)
{
    return now_ns <= __atomic_load_n(&all->fresh_until_ns, __ATOMIC_ACQUIRE);
}

#endif
