/*
 * mf.h - what the parts of mf share: the options, the ratings, and which keys the factors have.
 *
 * A row of the matrix has a factor of --rank floats, and so has a column; with biases one float
 * more, behind them. With SGD, sums of squares (AdaGrad) follow. The prediction is mean + bias +
 * bias + the factors' product.
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef MF_MF_H
#define MF_MF_H

#include "pool.h"
#include "ratings.h"
#include "settings.h"

enum mf_visit {
    MF_COLUMNS, /* each worker takes the columns in random order (NuPS, Section 5.1) */
    /* blocks of columns go from worker to worker (Lapse, Appendix A; Gemulla et al., 2011) */
    MF_BLOCKS,
};
enum mf_method {
    MF_SGD,         /* with AdaGrad, cell by cell */
    MF_COORDINATES, /* factor by factor (STRADS, Section 3.2) */
};
enum mf_table { MF_ROWS, MF_COLS };

struct mf_options {
    struct settings common;
    const char *test, *zipf, *write;
    uint64_t rank, batch, zipf_rank;
    double rate, regularization, init, held_back, zipf_exponent, zipf_noise;
    int visit, method;
    bool has_bias;
};

struct mf {
    struct mf_options options;
    struct ratings ratings; /* to train with, then to test */
};

/* Parameters of a factor: the first half of its row. */
static inline size_t mf_parameters(const struct mf *f)
{
    return (size_t)f->options.rank + f->options.has_bias;
}

/* Floats of its row: coordinate descent has no sums of squares. */
static inline size_t mf_row_floats(const struct mf *f)
{
    return f->options.method == MF_COORDINATES ? mf_parameters(f) : 2 * mf_parameters(f);
}

/* Where the ratings are from, for people. */
static inline const char *mf_source(const struct mf *f)
{
    return f->options.common.data ? f->options.common.data : f->options.zipf;
}

static inline locus_key mf_row_key(uint32_t row)
{
    return row;
}

static inline locus_key mf_column_key(const struct mf *f, uint32_t column)
{
    return (locus_key)f->ratings.rows + column;
}

/* What the factors say of a cell. */
float mf_predict(const struct mf *, const float *row, const float *column);

#endif
