/*
 * vocabulary.h - the words of a text that occur often enough, numbered from the most frequent one;
 * equally frequent ones in the order of the text. The same on all nodes. Where training goes on
 * from a model, all of its words are there, too: last those that the text has not, which are never
 * drawn.
 *
 * Callers   vocabulary_load() and _fini(): main(); a text: one thread; the rest: any thread
 * Memory    grows with the number of different words, those that are dropped included
 * Waiting   for the disk
 */
#ifndef WV_VOCABULARY_H
#define WV_VOCABULARY_H

#include "lines.h"
#include "names.h"
#include "rng.h"

#include <sys/stat.h>

/* The words of a piece of a text file, one after the other, which point into the mapped file. Words
 * have white space between them; the end of a line ends a sentence. */
enum text_event { TEXT_WORD, TEXT_LINE, TEXT_END };
enum { TEXT_WORD_MAX = 1024 };

struct text {
    struct lines file;
    const char *first, *at, *end;
    const char *word; /* after TEXT_WORD */
    size_t length;
};

/* The piece numbered `place` of `places`; pieces begin and end between words. Gives up when the
 * file cannot be read. `path` is kept by reference. */
void text_open(struct text *, const char *path, unsigned place, unsigned places);
/* Gives up, with file and line, at a word of more than TEXT_WORD_MAX bytes or with a zero byte:
 * that is no text. */
enum text_event text_next(struct text *);
void text_rewind(struct text *);
void text_close(struct text *);

struct vocabulary {
    struct names words;
    uint64_t *counts; /* of each word */
    uint64_t total;   /* their sum: the words of the text that are trained with */
    uint64_t read;    /* all words of the text */
    uint32_t kept;    /* words of the model that the text has not */
    struct stat text; /* as it was then */
};

/* `from`: the model, or NULL. Gives up when there is no word to train with,
 * or when the model has none of the text. */
void vocabulary_load(struct vocabulary *, const char *path, uint64_t min_count, const char *from);
void vocabulary_fini(struct vocabulary *);
/* In proportion to which negative words are drawn: counts to the power of 3/4, as Mikolov et al.
 * (2013) have it. free() it. */
double *vocabulary_weights(const struct vocabulary *);
/* The share of a word's occurrences that are trained with: (sqrt(f / t) + 1) t / f for the
 * frequency f and the threshold t, at most 1, as the original program has it. A threshold of 0
 * keeps all. */
double vocabulary_keep(const struct vocabulary *, uint32_t word, double threshold);
/* Of words and counts. */
uint64_t vocabulary_digest(const struct vocabulary *);

/* Draws numbers in proportion to weights, in constant time (Walker's alias method): the baseline's
 * negative samples. With locus the manager draws. */
struct noise {
    uint32_t count;
    float *share; /* of its own column */
    uint32_t *other;
};

/* Weights are not negative, and their sum is above 0. */
void noise_init(struct noise *, const double *weights, uint32_t count);
void noise_fini(struct noise *);
uint32_t noise_draw(const struct noise *, struct rng *);

#endif
