/*
 * shelf.h - a worker's documents: its tokens by word, their topics, and how often each of its
 * documents has each topic.
 *
 * Documents are divided among the workers by their tokens. Tokens with the same word lie together,
 * words by block; what is held back lies in arrays of its own, likewise.
 *
 * Callers   the worker's thread
 * Memory    8 bytes a token, 8 more for topics of documents, 16 a word
 * Waiting   never
 */
#ifndef LDA_SHELF_H
#define LDA_SHELF_H

#include "lda.h"
#include "rng.h"

struct shelf_tokens {
    uint64_t *start;    /* of each word of the corpus; one more at the end */
    uint32_t *document; /* of this shelf, from 0 */
    uint32_t *topic;
};

/* How often a document has a topic: never 0 times. */
struct shelf_pair {
    uint32_t topic, count;
};

struct shelf {
    const struct lda *lda;
    uint32_t first, documents; /* which of the corpus */
    struct shelf_tokens train, held;
    uint64_t tokens, held_tokens;
    uint64_t *pair_start; /* of each document among the pairs; one more at the end */
    struct shelf_pair *pairs;
    uint32_t *pair_count, *length; /* of each document: topics, tokens to train with */
    uint32_t blocks;
    uint32_t *block_start; /* of each block among `words`; one more at the end */
    uint32_t *words;       /* of the corpus that are here, by block */
};

/* The part of `places`; blocks have about equally many tokens of the corpus each, the same on all
 * workers. Topics are drawn: the same for a token whatever the cluster. */
void shelf_open(struct shelf *, const struct lda *, unsigned place, unsigned places,
                uint32_t blocks);
void shelf_close(struct shelf *);
/* Its tokens' topics are others now. */
void shelf_count(struct shelf *);

/* The topics of its tokens, one more than their numbers, as the tokens come in the corpus; 0 where
 * one is held back. And the order of each document's topics, one more likewise, from its first
 * token on; 0 behind the last. Whoever takes them over goes on as the one who gave them. */
void shelf_write(const struct shelf *, float *topics, float *orders);
void shelf_read(struct shelf *, const float *topics, const float *orders);

/* One more, or one less, of a topic in a document. */
static inline void shelf_add(struct shelf *s, uint32_t document, uint32_t topic)
{
    struct shelf_pair *p = s->pairs + s->pair_start[document], *end = p + s->pair_count[document];
    while (p < end && p->topic != topic) p++;
    if (p == end) {
        *p = (struct shelf_pair){.topic = topic};
        s->pair_count[document]++;
    }
    p->count++;
}

static inline void shelf_take(struct shelf *s, uint32_t document, uint32_t topic)
{
    struct shelf_pair *p = s->pairs + s->pair_start[document];
    while (p->topic != topic) p++;
    if (--p->count == 0) *p = s->pairs[s->pair_start[document] + --s->pair_count[document]];
}

/* ---- first topics by a saved model ---- */

/* --from: each token's topic is drawn by how likely its word is in each topic, of words of the same
 * name; topics stay what they were. Every worker, before topics are counted in rows; the first
 * says how many words there are. */
void lda_warm(struct shelf *, const char *path, bool is_first);

#endif
