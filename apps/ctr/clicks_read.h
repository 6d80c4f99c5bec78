/*
 * clicks_read.h - reads examples from files.
 *
 * apps/common/FORMATS.md says how files are read. Of LIBSVM feature numbers are keys, or, where they are
 * few and large, names; without fields (LIBFFM), where all examples have the same number of
 * features, the first one is in the first field and so on; else all are in one.
 *
 * Criteo: label, 13 numbers and 26 categories, with tabs between; any of them may be empty. A
 * number becomes the category of its squared logarithm, as is usual with these data.
 *
 * Separated fields: a column is a field. A column of numbers (nine or more to each different word in
 * it; numbers with a decimal comma or a unit are refused), and more than `bins` different ones, is cut into so many parts of about the same number of examples,
 * or fewer, down to 16, where these would be less than 32. Each part, and each value that is not
 * cut, is a feature; so is what is missing. The label is in the last column, or in the one named
 * `label`; `weight` names a column that is no feature, but how many examples the row counts as.
 * The columns of `test` are found by their names, and where there is no heading by their
 * place. A full stop behind a label is passed over.
 *
 * Features of Criteo's format and of separated fields have numbers by a vocabulary of what is
 * trained with, what is only tested with is left out; or by a hash of so many bits.
 *
 * Callers   main()
 * Memory    that of the examples; of a CSV's columns of numbers 8 bytes a value while it reads
 * Waiting   for the disk. What is malformed ends the program with file and line
 */
#ifndef CTR_CLICKS_READ_H
#define CTR_CLICKS_READ_H

#include "clicks.h"

struct clicks_source {
    const char *train, *test; /* `test` may be NULL */
    enum format format;
    const char *label, *weight; /* columns' names, of CSV; or NULL */
    const char *positive;       /* the label of a click; or NULL */
    unsigned hash_bits;         /* 0: a vocabulary */
    unsigned bins;
    const struct clicks_columns *known; /* a model's, which those of CSV must be; or NULL */
};

/* Returns how many examples are to train with; those of `test` follow. */
uint64_t clicks_read(struct clicks *, const struct clicks_source *);

#endif
