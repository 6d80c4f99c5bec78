/*
 * questions.h - what word vectors are measured by: analogies ("a is to b as c is to ?") and pairs
 * of words that people rated by their similarity.
 *
 * Words are looked up as they are, and in lower case when they are not there so; questions with a
 * word that is not in the vocabulary are not answerable.
 *
 * Callers   main() loads; any thread reads
 * Memory    grows with the file
 * Waiting   for the disk
 */
#ifndef WV_QUESTIONS_H
#define WV_QUESTIONS_H

#include "vocabulary.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Rows of two words and a rating. */
void similarities_load(struct similarities *, const char *path, const struct vocabulary *);
void similarities_fini(struct similarities *);

/* Spearman's rank correlation: Pearson's of the ranks, equal values having their mean rank. Not a
 * number for fewer than 2 values, or when all are equal. */
double spearman(const double *x, const double *y, size_t n);

#endif
