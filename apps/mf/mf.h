/*
 * mf.h - what the parts of mf share: the options, the ratings, and which keys the factors have.
 *
 * A row of the matrix has a factor of --rank floats, and so has a column; with biases one float
 * more, behind them. With SGD, sums of squares (AdaGrad) follow: one for each float, or one for the
 * factor and one for the bias. The prediction is mean + bias +
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
/* What has a learning rate of its own, by the sum of its squared gradients. */
enum mf_adagrad {
    MF_BY_COORDINATE,
    MF_BY_ROW, /* by the mean over the factor's coordinates; the bias by itself */
};
enum mf_table { MF_ROWS, MF_COLS };

struct mf_options {
    struct settings common;
    const char *test, *write;
    uint64_t rank, batch, best, implicit;
    double rate, regularization, init, held_back;
    int visit, method, adagrad;
    bool has_bias;
};

struct mf {
    struct mf_options options;
    struct ratings ratings; /* to train with, then to test */
};

/* Parameters of a factor: the first floats of its row. */
static inline size_t mf_parameters(const struct mf *f)
{
    return (size_t)f->options.rank + f->options.has_bias;
}

/* Sums of squares behind them: coordinate descent has none. */
static inline size_t mf_sums(const struct mf *f)
{
    if (f->options.method == MF_COORDINATES) return 0;
    return f->options.adagrad == MF_BY_ROW ? 1 + (size_t)f->options.has_bias : mf_parameters(f);
}

static inline size_t mf_row_floats(const struct mf *f)
{
    return mf_parameters(f) + mf_sums(f);
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
