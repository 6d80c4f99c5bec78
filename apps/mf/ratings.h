/*
 * ratings.h - the revealed cells of a matrix: those to train with, then those to test with.
 *
 * Files have a line a cell, "row TAB column TAB value": names, and a number.
 *
 * Callers   main() loads; any thread reads
 * Memory    12 bytes a cell; 16 more while they are made up
 * Waiting   for the disk
 */
#ifndef MF_RATINGS_H
#define MF_RATINGS_H

#include "names.h"

#include <stdbool.h>

struct rating {
    uint32_t row, column;
    float value;
};

enum { RATINGS_ABSENT_MAX = 1000 };

struct ratings {
    struct rating *list;
    /* Values do not count: each cell is a 1. Before they are loaded. */
    bool is_implicit;
    size_t train, test; /* how many of each */
    bool *has_cells[2]; /* of each row, and each column: some to train with */
    /* of those to test with, of a file: in a row or a column without any to train with */
    size_t unknown;
    bool is_tested_again; /* the file has the cells to train with */
    size_t capacity;
    uint32_t rows, columns;
    /* each is empty without names: generated */
    struct names row_names, column_names;
    double mean, deviation; /* of those to train with */
};

void ratings_init(struct ratings *);
void ratings_fini(struct ratings *);
/* Gives up, with file and line, when it is malformed. `test` may be NULL: then the share
 * `held_back` of the cells, chosen by the seed, is for testing. The same cells, names and sentences
 * with any number of threads. */
void ratings_load(struct ratings *, const char *train, const char *test, double held_back,
                  uint64_t seed, unsigned threads);
/* Room for so many cells behind all that are counted. */
struct rating *ratings_capacity(struct ratings *, size_t more);
/* For generators: adds a cell to train with, and in the end sets the mean and holds some back. */
void ratings_add(struct ratings *, struct rating);
void ratings_finish(struct ratings *, double held_back, uint64_t seed);
/* For each cell to train with, `times` cells (RATINGS_ABSENT_MAX at most) of its row that are not
 * there, as 0: each drawn at random from all columns. */
void ratings_add_absent(struct ratings *, uint64_t times, uint64_t seed);
static inline bool ratings_is_absent(const struct ratings *r, const struct rating *x)
{
    return r->is_implicit && x->value <= 0;
}
/* Into train.txt and test.txt of the folder, which need not be there: named cells, in order. */
void ratings_write(const struct ratings *, const char *folder);
/* Of the shape and so many cells. */
uint64_t ratings_digest(const struct ratings *, size_t first, size_t end);

/* Numbers of cells, row << 32 | column: for qsort(); and where those of a row begin among `count`
 * that ascend. */
int ratings_compare(const void *, const void *);
uint64_t *ratings_of_row(uint64_t *list, size_t count, uint64_t row);

#endif
