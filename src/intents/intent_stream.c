#include "intents/intent_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A stream is a list of chunks, a chunk holds parts of calls:
 *
 *     [count and kind] [start] [end] [index] … [index]
 *
 * A call with many keys makes several parts. Words below `published` belong to the reader.
 */
enum {
    CHUNK_WORDS = STREAM_PART_MAX,
    /* so that a chunk is published whole only together with the next one */
    PARTS_END = CHUNK_WORDS - 1,
    HEADER_WORDS = 3,
};

#ifdef LOCUS_FIBERS
enum { SET_BITS_MAX = 0 }; /* simulations have few keys, and some shall find no place */
#else
enum { SET_BITS_MAX = 12 };
#endif

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

struct intent_stream *stream_new(unsigned worker, uint64_t keys, uint32_t *opening)
{
    int bits = 0;
    while (bits < SET_BITS_MAX && ((uint64_t)WANTS_A_SET << bits) < keys) bits++;
    struct intent_stream *s = aligned_alloc(_Alignof(struct intent_stream), sizeof *s);
    struct intent_chunk *c = new_chunk();
    size_t bytes = sizeof(struct intent_wants) << bits;
    struct intent_wants *wants = aligned_alloc(sizeof(struct intent_wants), bytes);
    if (!s || !c || !wants) {
        free(s);
        free(c);
        free(wants);
        return NULL;
    }
    memset(wants, 0, bytes);
    *s = (struct intent_stream){.worker = worker,
                                .opening = __atomic_load_n(opening, __ATOMIC_RELAXED),
                                .last_opening = opening,
                                .wants = wants,
                                .set_bits = (unsigned)bits,
                                .writing = c,
                                .reading = c};
    return s;
}

/* ---- wants ---- */

/* A want in its place ends by its part, and is not missed here, unless it was raised. */
static void place_want(struct intent_stream *s, struct intent_wants *w, uint64_t index)
{
    const struct intent_call *c = &s->call;
    unsigned over = 0, not_raised = 0;
    if (index >> s->set_bits > UINT32_MAX >> 1) return;
    for (unsigned i = 0; i < WANTS_A_SET; i++) {
        over |= (unsigned)(w->end[i] <= c->now) << i;
        not_raised |= (unsigned)(~w->tag[i] & WANT_RAISED) << i;
    }
    if (!over && !not_raised) return;
    unsigned at = (unsigned)__builtin_ctz(over ? over : not_raised);
    if (!s->is_used) __atomic_store_n(&s->is_used, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&w->end[at], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&w->tag[at], stream_tag(s, index), __ATOMIC_RELEASE);
    __atomic_store_n(&w->begin[at], (uint32_t)c->start, __ATOMIC_RELEASE);
    __atomic_store_n(&w->end[at], c->end, __ATOMIC_RELEASE);
}

locus_clock stream_wanted_until(const struct intent_stream *s, uint64_t index, locus_clock now)
{
    const struct intent_wants *w = stream_wants(s, index);
    locus_clock until = INT64_MIN;
    if (s->has_ended || !stream_is_used(s)) return until;
    for (unsigned i = 0; i < WANTS_A_SET; i++) {
        locus_clock end = __atomic_load_n(&w->end[i], __ATOMIC_SEQ_CST);
        if (end <= now || end <= until) continue;
        uint32_t tag = __atomic_load_n(&w->tag[i], __ATOMIC_ACQUIRE),
                 begin = __atomic_load_n(&w->begin[i], __ATOMIC_ACQUIRE);
        bool is_it = (tag ^ stream_tag(s, index)) <= WANT_RAISED;
        if (is_it && want_begin(end, begin) <= now) until = end;
    }
    return until;
}

void stream_raised(const struct intent_stream *s, locus_clock now, stream_hear *hear, void *context)
{
    for (uint64_t set = 0; set < UINT64_C(1) << s->set_bits && !s->has_ended; set++) {
        const struct intent_wants *w = &s->wants[set];
        for (unsigned i = 0; i < WANTS_A_SET; i++) {
            if (w->end[i] <= now || !(w->tag[i] & WANT_RAISED)) continue;
            locus_clock begin = want_begin(w->end[i], w->begin[i]);
            uint64_t index = (uint64_t)(w->tag[i] >> 1) << s->set_bits | set;
            hear(context, index, begin > now ? begin : now, w->end[i]);
        }
    }
}

/* ---- parts ---- */

void stream_begin(struct intent_stream *s, locus_clock start, locus_clock end, locus_clock now,
                  locus_clock lookahead)
{
    /* the first clock at which it would have begun */
    locus_clock joins = start - lookahead + 1;
    if (joins <= now) joins = now + 1;
    if (end < now || end - now > WANT_SPAN_MAX) joins = INT64_MAX; /* for ever, or nearly */
    s->call = (struct intent_call){
        .start = start, .end = end, .now = now, .joins = joins, .from = INT64_MAX};
}

/* The words below `written` of the chunk that is written to, and all of those before it, belong to
 * the reader. */
void stream_publish(struct intent_stream *s)
{
    s->header_chunk = NULL;
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

/* What this call has placed, from words that were not published. */
static void take_wants_back(struct intent_stream *s, const struct intent_chunk *c, uint32_t from,
                            uint32_t until)
{
    while (from < until && c->word[from] != 0) {
        uint32_t count = (uint32_t)c->word[from] >> 3;
        for (const uint64_t *index = &c->word[from + HEADER_WORDS]; count-- > 0; index++) {
            struct intent_wants *w = stream_wants(s, *index);
            for (unsigned i = 0; i < WANTS_A_SET; i++)
                if (w->tag[i] == stream_tag(s, *index) && w->end[i] == s->call.end)
                    __atomic_store_n(&w->end[i], 0, __ATOMIC_RELEASE);
        }
        from += HEADER_WORDS + ((uint32_t)c->word[from] >> 3);
    }
}

void stream_undo(struct intent_stream *s)
{
    struct intent_chunk *first = s->first_new ? s->first_new : s->writing;
    uint32_t published = __atomic_load_n(&first->published, __ATOMIC_RELAXED);
    s->header_chunk = NULL;
    take_wants_back(s, first, published, first == s->writing ? s->written : CHUNK_WORDS);
    for (struct intent_chunk *c = first == s->writing ? NULL : first->next, *next; c; c = next) {
        next = c->next;
        take_wants_back(s, c, 0, c == s->writing ? s->written : CHUNK_WORDS);
        free(c);
    }
    first->next = NULL;
    s->writing = first;
    s->written = published;
    s->first_new = NULL;
}

/* Words that are not used at the end of a chunk read as an empty part. */
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

static bool begin_part(struct intent_stream *s, unsigned kind)
{
    if (s->written + HEADER_WORDS + 1 > PARTS_END && !next_chunk(s)) return false;
    s->header_chunk = s->writing;
    s->header = s->written;
    s->writing->word[s->written++] = kind + 1;
    s->writing->word[s->written++] = (uint64_t)s->call.start;
    s->writing->word[s->written++] = (uint64_t)s->call.end;
    return true;
}

int stream_write(struct intent_stream *s, uint64_t index)
{
    bool waits = s->call.start > s->call.now;
    if ((!s->header_chunk || s->written == PARTS_END) &&
        !begin_part(s, waits ? PART_WAITING : PART_BEGUN))
        return -ENOMEM;
    s->writing->word[s->written++] = index;
    s->header_chunk->word[s->header] += 8; /* the count is above the kind */
    s->call.added++;
    return 0;
}

int stream_add_new(struct intent_stream *s, uint64_t index)
{
    int rc = stream_write(s, index);
    if (rc == 0 && s->call.joins != INT64_MAX) place_want(s, stream_wants(s, index), index);
    return rc;
}

void stream_close(struct intent_stream *s, bool ends_worker)
{
    /* Without memory for the part, the intents end by their clocks. */
    if (ends_worker && begin_part(s, PART_END_OF_WORKER)) stream_publish(s);
    if (ends_worker) __atomic_fetch_add(s->last_opening, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->closed, 1, __ATOMIC_RELEASE);
}

/* ---- the reader ---- */

void stream_begin_reading(struct intent_stream *s)
{
    s->until = __atomic_load_n(&s->chunks, __ATOMIC_ACQUIRE);
}

/* Read chunks are given back. */
bool stream_read(struct intent_stream *s, struct intent_part *r)
{
    for (;;) {
        struct intent_chunk *c = s->reading;
        uint32_t published = __atomic_load_n(&c->published, __ATOMIC_ACQUIRE);
        if (s->read < published && c->word[s->read] != 0) {
            const uint64_t *word = &c->word[s->read];
            *r = (struct intent_part){.kind = (unsigned)((word[0] & 7) - 1),
                                      .count = (uint32_t)word[0] >> 3,
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
    free(s->wants);
    free(s);
}
