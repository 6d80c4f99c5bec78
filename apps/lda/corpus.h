/*
 * corpus.h - documents as bags of words.
 *
 * Files are LDA-C (a line a document: how many different words, then word:count, words from 0),
 * UCI docword (three lines with the numbers of documents, words and entries, then a line an entry:
 * document, word, count, from 1), MatrixMarket (a row a document, a column a word), or plain text
 * (a line a document; words between blanks). Which, the first lines say, or who calls. A vocabulary is a word a
 * line. apps/common/FORMATS.md has the rules.
 *
 * Callers   main() loads; any thread reads
 * Memory    4 bytes a token, 8 a document
 * Waiting   for the disk
 */
#ifndef LDA_CORPUS_H
#define LDA_CORPUS_H

#include "format.h"
#include "lines.h"
#include "names.h"

#include <stdbool.h>

/* Counts are floats in rows: more of one could not be told apart. */
enum { CORPUS_COUNT_MAX = (1 << 24) - 1 };

struct corpus {
    enum format format; /* of the file */
    bool is_named;      /* by who calls */
    uint64_t comments;  /* lines of a text that are none of its documents */
    uint64_t unknown;   /* tokens to test with of words to train without: left out */
    uint32_t documents, words;
    uint64_t *start; /* of each document among the tokens; one more at the end */
    uint32_t *token; /* words, in the order of the file */
    size_t token_capacity, start_capacity;
    struct names names; /* of the words, or none */
};

/* Gives up, with file and line, when a file is malformed. `vocabulary` may be NULL.
 * Where the format is named, text may look like another one. */
void corpus_load(struct corpus *, const char *path, enum format, const char *vocabulary);
/* Documents in the words of `known`; other words are left out. */
void corpus_load_test(struct corpus *, const char *path, const struct corpus *known);
/* Is the line of a text a comment? Gives up where it may be a document whose first word is #word. */
bool corpus_is_comment(const struct lines *);
/* Is it a line of LDA-C: a number, and so many word:count? */
bool corpus_is_ldac(const struct lines *);
void corpus_fini(struct corpus *);
uint64_t corpus_digest(const struct corpus *);

/* Is the token held back for testing? Depends on its place alone. */
bool corpus_is_held(uint64_t token, double share, uint64_t seed);

#endif
