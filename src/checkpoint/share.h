/*
 * share.h - what the workers of a node share while they write or read a checkpoint.
 *
 * Memory    malloc, from a node's first checkpoint on: after a loss some may still be at work
 * Waiting   share_lock: for moments
 * Life      share_new, share_begin for each checkpoint or restore, share_free
 */
#ifndef LOCUS_CHECKPOINT_SHARE_H
#define LOCUS_CHECKPOINT_SHARE_H

#include "checkpoint/contents.h"

#include <pthread.h>

/* Keys of a table with consecutive indices in a shard. */
struct slice {
    unsigned table, shard;
    uint64_t from, end; /* indices */
};

struct share {
    pthread_mutex_t mutex;
    struct slice dealt;       /* last */
    struct manifest manifest; /* of what this node wrote; or of what is restored */
    unsigned next_file;       /* to read */
    struct seal *seals;       /* of the files that were verified here; NULL: of none */
};

/* NULL: no memory. */
struct share *share_new(void);
void share_begin(struct share *);
void share_free(struct share *); /* NULL is allowed */

static inline void share_lock(struct share *s)
{
    pthread_mutex_lock(&s->mutex);
}

static inline void share_unlock(struct share *s)
{
    pthread_mutex_unlock(&s->mutex);
}

#endif
