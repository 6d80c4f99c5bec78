#include "protocol/intent_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A stream is a list of chunks, a chunk holds records:
 *
 *     [repeated, count and kind] [start] [end] [index] … [index]
 *
 * A call with many keys makes several records. If it names a key again, and that is noticed, the
 * key is only counted: samples have many such keys, and each would otherwise have to begin and end.
 * Words below `published` belong to the reader.
 */
enum {
    CHUNK_WORDS = STREAM_RECORD_MAX,
    /* so that a chunk is published whole only together with the next one */
    RECORDS_END = CHUNK_WORDS - 1,
    HEADER_WORDS = 3,
};
#define REPEATED_ONE (UINT64_C(1) << 32) /* in a header; the count is below, above the kind */

struct intent_chunk {
    struct intent_chunk *next; /* the reader's when all words are published */
    uint32_t published;        /* atomic: words */
    uint64_t word[CHUNK_WORDS];
};

/* ---- the writer ---- */

static struct intent_chunk *new_chunk(void)
{
    struct intent_chunk *c = malloc(sizeof *c);
    if (!c) return NULL;
    c->next = NULL;
    c->published = 0;
    return c;
}

struct intent_stream *stream_new(unsigned worker, uint32_t *life)
{
    struct intent_stream *s = aligned_alloc(_Alignof(struct intent_stream), sizeof *s);
    struct intent_chunk *c = new_chunk();
    if (!s || !c) {
        free(s);
        free(c);
        return NULL;
    }
    *s = (struct intent_stream){.worker = worker,
                                .life = __atomic_load_n(life, __ATOMIC_RELAXED),
                                .last_life = life,
                                .call = 1,
                                .writing = c,
                                .reading = c};
    return s;
}

static void end_call(struct intent_stream *s)
{
    if (++s->call > 0) return;
    s->call = 1; /* they may have been numbered so before */
    memset(s->said, 0, sizeof s->said);
}

/* The words below `written` of the chunk that is written to, and all of those before it, belong to
 * the reader. */
void stream_publish(struct intent_stream *s)
{
    s->header_chunk = NULL;
    end_call(s);
    /* Later chunks first: a reader that comes to a chunk's end goes on to the next one. */
    if (s->first_new) {
        uint64_t chunks = s->chunks;
        for (struct intent_chunk *c = s->first_new->next; c; c = c->next, chunks++)
            __atomic_store_n(&c->published, c == s->writing ? s->written : CHUNK_WORDS,
                             __ATOMIC_RELAXED);
        /* Release: a reader that sees the mark sees the words, here and in later chunks. */
        __atomic_store_n(&s->first_new->published, CHUNK_WORDS, __ATOMIC_RELEASE);
        __atomic_store_n(&s->chunks, chunks, __ATOMIC_RELEASE);
        s->first_new = NULL;
    } else {
        __atomic_store_n(&s->writing->published, s->written, __ATOMIC_RELEASE);
    }
}

bool stream_has_unpublished(const struct intent_stream *s)
{
    return s->header_chunk != NULL;
}

void stream_undo(struct intent_stream *s)
{
    s->header_chunk = NULL;
    end_call(s);
    if (!s->first_new) {
        s->written = __atomic_load_n(&s->writing->published, __ATOMIC_RELAXED);
        return;
    }
    struct intent_chunk *c = s->first_new->next;
    s->writing = s->first_new;
    s->writing->next = NULL;
    s->written = s->writing->published;
    s->first_new = NULL;
    while (c) {
        struct intent_chunk *next = c->next;
        free(c);
        c = next;
    }
}

/* Words that are not used at the end of a chunk read as an empty record. */
static bool next_chunk(struct intent_stream *s)
{
    struct intent_chunk *c = new_chunk();
    if (!c) return false;
    for (uint32_t i = s->written; i < CHUNK_WORDS; i++) s->writing->word[i] = 0;
    if (!s->first_new) s->first_new = s->writing;
    s->writing->next = c;
    s->writing = c;
    s->written = 0;
    return true;
}

static bool begin_record(struct intent_stream *s, unsigned kind, locus_clock start, locus_clock end)
{
    if (s->written + HEADER_WORDS + 1 > RECORDS_END && !next_chunk(s)) return false;
    s->header_chunk = s->writing;
    s->header = s->written;
    s->writing->word[s->written++] = kind + 1;
    s->writing->word[s->written++] = (uint64_t)start;
    s->writing->word[s->written++] = (uint64_t)end;
    return true;
}

/* Has the present call named the key before? May be overlooked. */
static bool is_repeated(struct intent_stream *s, uint64_t index)
{
    struct intent_said *said = &s->said[index % STREAM_SAID];
    if (said->call == s->call && said->index == index) return true;
    *said = (struct intent_said){s->call, index};
    return false;
}

int stream_add(struct intent_stream *s, locus_clock start, locus_clock end, bool waits,
               uint64_t index)
{
    if (is_repeated(s, index)) {
        s->header_chunk->word[s->header] += REPEATED_ONE;
        return 0;
    }
    if ((!s->header_chunk || s->written == RECORDS_END) &&
        !begin_record(s, waits ? RECORD_WAITING : RECORD_INTENTS, start, end))
        return -ENOMEM;
    s->writing->word[s->written++] = index;
    s->header_chunk->word[s->header] += 8; /* the count is above the kind */
    return 0;
}

void stream_close(struct intent_stream *s, bool ends_worker)
{
    /* Without memory for the record, the intents end by their clocks. */
    if (ends_worker && begin_record(s, RECORD_END_OF_WORKER, 0, 0)) stream_publish(s);
    if (ends_worker) __atomic_fetch_add(s->last_life, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->closed, 1, __ATOMIC_RELEASE);
}

/* ---- the reader ---- */

void stream_begin_reading(struct intent_stream *s)
{
    s->until = __atomic_load_n(&s->chunks, __ATOMIC_ACQUIRE);
}

/* Read chunks are given back. */
bool stream_read(struct intent_stream *s, struct intent_record *r)
{
    for (;;) {
        struct intent_chunk *c = s->reading;
        uint32_t published = __atomic_load_n(&c->published, __ATOMIC_ACQUIRE);
        if (s->read < published && c->word[s->read] != 0) {
            const uint64_t *word = &c->word[s->read];
            *r = (struct intent_record){.kind = (unsigned)((word[0] & 7) - 1),
                                        .count = (uint32_t)word[0] >> 3,
                                        .repeated = (uint32_t)(word[0] >> 32),
                                        .start = (locus_clock)word[1],
                                        .end = (locus_clock)word[2],
                                        .index = word + HEADER_WORDS};
            s->read += HEADER_WORDS + r->count;
            return true;
        }
        if (published < CHUNK_WORDS || !c->next || s->chunks_read == s->until) return false;
        s->reading = c->next;
        s->read = 0;
        s->chunks_read++;
        free(c);
    }
}

bool stream_is_closed(const struct intent_stream *s)
{
    return __atomic_load_n(&s->closed, __ATOMIC_ACQUIRE);
}

bool stream_has_unread(const struct intent_stream *s)
{
    const struct intent_chunk *c = s->reading;
    uint32_t published = __atomic_load_n(&c->published, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED)) return true;
    return s->read < published || (published == CHUNK_WORDS && c->next);
}

void stream_free(struct intent_stream *s)
{
    for (struct intent_chunk *c = s->reading; c;) {
        struct intent_chunk *next = c->next;
        free(c);
        c = next;
    }
    free(s);
}
