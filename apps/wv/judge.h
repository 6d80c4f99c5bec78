/*
 * judge.h - how good the word vectors are: all nodes answer analogies together, each with a copy of
 * the input rows, made unit vectors. The answer to "a is to b as c is to ?" is the word nearest to
 * b - a + c, by the cosine, other than the three (Mikolov et al., 2013).
 *
 * Callers   judge_init() and _fini(): main(); judge_all(): every worker of every node, a collective
 * Memory    all input rows, twice; only if something is to be judged
 * Waiting   judge_all() for rows of other nodes, and for all workers
 */
#ifndef WV_JUDGE_H
#define WV_JUDGE_H

#include "vocabulary.h"
#include "wv.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- the questions ---- */

/* Words are looked up as they are, and in lower case when they are not there so; questions with a
 * word that is not in the vocabulary are not answerable. */
struct analogy {
    uint32_t words[4];
    uint32_t section;
};

struct analogies {
    struct names sections;
    uint32_t *asked;      /* in each section */
    uint32_t *answerable; /* those of them */
    size_t total;
    struct analogy *list; /* the answerable ones */
    size_t count;
};

/* As in questions-words: lines of ": section", and of four words with blanks between. Words
 * numbered `limit` and above count as unknown; 0: none does. */
void analogies_load(struct analogies *, const char *path, const struct vocabulary *,
                    uint64_t limit);
void analogies_fini(struct analogies *);

struct similarity {
    uint32_t a, b;
    double rating;
};

struct similarities {
    size_t total;
    struct similarity *list; /* the answerable ones */
    size_t count;
};

/* Rows of two words and a rating (fields.h). */
void similarities_load(struct similarities *, const char *path, const struct vocabulary *);
void similarities_fini(struct similarities *);

/* Spearman's rank correlation: Pearson's of the ranks, equal values having their mean rank. Not a
 * number for fewer than 2 values, or when all are equal. */
double spearman(const double *x, const double *y, size_t n);

struct judge {
    const struct wv *wv;
    struct analogies analogies;
    struct similarities similarities;
    uint32_t candidates; /* words that answers are looked for among */
    float *vectors;
    float *panels; /* of the candidates, for matrix.h */
};

struct verdict {
    uint64_t *correct; /* in each section; the caller frees it */
    double similarity; /* Spearman's; not a number when it is not defined */
    double seconds;
};

void judge_init(struct judge *, const struct wv *);
void judge_fini(struct judge *);
bool judge_has_work(const struct judge *);
struct verdict judge_all(struct judge *, struct pool_member *);

/* The answers to a list of analogies: adds to `correct` of each section. */
void judge_answer(const struct judge *, const struct analogy *, size_t count, uint64_t *correct);

#endif
