/*
 * clicks_read.h - reads examples from files.
 *
 * A line an example, of LIBSVM or LIBFFM: "label index:value ...", "label field:index:value ...".
 * Feature numbers are keys, or, where they are few and large, names. Without fields, where all
 * examples have the same number of features, the first one is in the first field and so on; else
 * all are in one. A file of weights has a number a line: as how many examples each of `train`
 * counts.
 *
 * Callers   main()
 * Memory    that of the examples
 * Waiting   for the disk. What is malformed ends the program with file and line
 */
#ifndef CTR_CLICKS_READ_H
#define CTR_CLICKS_READ_H

#include "clicks.h"

struct clicks_source {
    const char *train, *test, *weights; /* the last two may be NULL */
};

/* Returns how many examples are to train with; those of `test` follow. */
uint64_t clicks_read(struct clicks *, const struct clicks_source *);

#endif
