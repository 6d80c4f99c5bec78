/*
 * sources.h - the nodes that a shard holds replicas of: when was each last heard of, and may its
 * replicas still answer (staleness_s of the configuration)?
 *
 * A node is heard of with every frame, a heartbeat too. With a bound on staleness, a replica whose
 * source was not heard of for longer answers no pull. Workers look at one moment for all replicas
 * of a shard, `fresh_until_ns`: that of the source which is silent for longest. After it they ask
 * the shard, which knows the key's own source: it serves the pull, or lets it wait until the owner
 * has sent the row (origin.c, replica.c). Asking for the row, and not for its values alone, keeps
 * what workers have added to the replica and the owner has not got.
 *
 * Callers   shard.c, replica.c, origin.c, look.c on the shard's thread; sources_are_fresh any
 * Memory    16 bytes a node
 * Waiting   never
 * Life      sources_init, any use, sources_fini
 */
#ifndef LOCUS_PROTOCOL_SOURCES_H
#define LOCUS_PROTOCOL_SOURCES_H

#include "protocol/location.h"
#include "protocol/state.h"

struct source {
    uint64_t heard_ns; /* last frame, or when the first replica came */
    uint64_t replicas;
};

struct sources {
    struct source *source; /* [nodes] */
    uint64_t bound_ns;     /* 0: replicas answer however old they are */
    /* atomic, this thread writes: workers may read any replica here until then */
    uint64_t fresh_until_ns __attribute__((aligned(64)));
} __attribute__((aligned(64)));

int sources_init(struct shard *, uint64_t bound_ns); /* 0 or -ENOMEM */
void sources_fini(struct shard *);

/* A replica that the node gave us begins, ends. */
void sources_add(struct shard *, unsigned node);
void sources_remove(struct shard *, unsigned node);
/* A frame arrived from the node, a heartbeat maybe: how old had its replicas become? Before what is
 * in it is served. */
void sources_heard(struct shard *, unsigned node);
/* Tells workers; after what was in it was served. */
void sources_publish(struct shard *);

/* Whom the replica of the key is from; `record` may be NULL where every node holds every row. */
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

/* May all replicas of the shard be read at that time? Asked before one is looked at. */
static inline bool sources_are_fresh(const struct sources *all, uint64_t now_ns)
{
    return now_ns <= __atomic_load_n(&all->fresh_until_ns, __ATOMIC_ACQUIRE);
}

#endif
