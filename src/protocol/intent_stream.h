/*
 * intent_stream.h - the intents that one worker or loader signals, on their way to one shard.
 *
 * One thread writes, the shard reads, and neither waits for the other. If one call names a key
 * several times, repetitions that are noticed are counted and not written.
 *
 * Callers   the writer: one thread; the reader: the shard's
 * Memory    8 bytes a key in chunks of 4 KiB until they are read, and 16 KiB of keys that the
 *           present call has named
 * Waiting   never
 * Life      stream_new; any calls; stream_close by the writer, then stream_free by the reader
 */
#ifndef LOCUS_PROTOCOL_INTENT_STREAM_H
#define LOCUS_PROTOCOL_INTENT_STREAM_H

#include "locus.h"

#include <stdbool.h>
#include <stdint.h>

struct intent_chunk;

/* From one worker or loader to one shard. */
enum { STREAM_SAID = 1024 };

struct intent_stream {
    struct intent_stream *next; /* of the shard's */
    unsigned worker;
    uint32_t life;       /* of the worker: another number each time that it opens */
    uint32_t *last_life; /* atomic: the note's */
    /* The writer's. */
    struct intent_chunk *writing;
    uint32_t written;               /* words in it, published or not */
    struct intent_chunk *first_new; /* chunks begun since the last publication */
    uint32_t header;                /* of the record under construction; 0: none */
    struct intent_chunk *header_chunk;
    uint32_t call;       /* the current one */
    struct intent_said { /* a key that this call, or an earlier one, has named */
        uint32_t call;
        uint64_t index;
    } said[STREAM_SAID];
    uint64_t chunks; /* atomic: published at least in part, without the first */
    int closed;      /* atomic: nothing will follow */
    /* The shard's. */
    struct intent_chunk *reading __attribute__((aligned(64)));
    uint32_t read;               /* words of it */
    uint64_t chunks_read, until; /* whole ones, except the last, which is being read */
};

/* ---- the writer ---- */

/* `life`: the worker's, atomic; it outlives the stream. Returns NULL if there is no memory. */
struct intent_stream *stream_new(unsigned worker, uint32_t *life);
/* The worker's own stream is closed last, after its loaders'; all intents of the worker end with
 * it. */
void stream_close(struct intent_stream *, bool ends_worker);
/* As the end of an intent: the node no longer keeps the keys, nor will it. */
#define INTENT_TAKES_BACK INT64_MIN
/* For each call: add the indices of all its keys in this shard, then stream_publish or stream_undo.
 * After -ENOMEM: undo. */
int stream_add(struct intent_stream *, locus_clock start, locus_clock end, bool waits,
               uint64_t index);
bool stream_has_unpublished(const struct intent_stream *);
void stream_publish(struct intent_stream *);
void stream_undo(struct intent_stream *);

/* ---- the reader ---- */

enum { RECORD_INTENTS, RECORD_WAITING, RECORD_END_OF_WORKER, STREAM_RECORD_MAX = 508 };

/* Some or all keys of one call; fewer than STREAM_RECORD_MAX. */
struct intent_record {
    unsigned kind;
    uint32_t count, repeated;
    locus_clock start, end;
    const uint64_t *index; /* valid until the next stream_read() */
};

/* Reading ends about where the writer is now. Otherwise a writer that is as fast as the reader
 * would keep it reading for ever. */
void stream_begin_reading(struct intent_stream *);
/* The next record; false if there is none yet, or reading has ended. */
bool stream_read(struct intent_stream *, struct intent_record *);
bool stream_is_closed(const struct intent_stream *);
/* Is there anything to read, or has it closed? */
bool stream_has_unread(const struct intent_stream *);
/* Frees it with everything that was not read. */
void stream_free(struct intent_stream *);

#endif
