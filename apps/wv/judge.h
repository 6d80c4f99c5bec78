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

#include "questions.h"
#include "wv.h"

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
