/*
 * corpus.h - documents as bags of words.
 *
 * A file is LDA-C (a line a document: how many different words, then word:count, words from 0) or
 * UCI docword (three lines with the numbers of documents, words and entries, then a line an entry:
 * document, word, count, from 1): this one begins with a number above 0 alone. A vocabulary is a
 * word a line.
 *
 * Callers   main() loads; any thread reads
 * Memory    4 bytes a token, 8 a document
 * Waiting   for the disk
 */
#ifndef LDA_CORPUS_H
#define LDA_CORPUS_H

#include "names.h"

#include <stdbool.h>

/* Counts are floats in rows: more of one could not be told apart. */
enum { CORPUS_COUNT_MAX = (1 << 24) - 1 };

struct corpus {
    bool is_docword; /* or LDA-C */
    uint32_t documents, words;
    uint64_t *start; /* of each document among the tokens; one more at the end */
    uint32_t *token; /* words, in the order of the file */
    size_t token_capacity, start_capacity;
    struct names names; /* of the words, or none */
};

/* Gives up, with file and line, when a file is malformed. `vocabulary` may be NULL. */
void corpus_load(struct corpus *, const char *path, const char *vocabulary);
/* "DOCUMENTSxWORDSxTOKENSxTOPICS": so many tokens a document; topics are planted, each with a part
 * of the words, and each document has three of them. */
void corpus_generate(struct corpus *, const char *text, uint64_t seed);
void corpus_fini(struct corpus *);
uint64_t corpus_digest(const struct corpus *);

/* Is the token held back for testing? Depends on its place alone. */
bool corpus_is_held(uint64_t token, double share, uint64_t seed);

#endif
