#include "mf.h"

#include "vec.h"

float mf_predict(const struct mf *f, const float *row, const float *column)
{
    size_t rank = f->options.rank;
    float product = vec_best()->dot(row, column, rank);
    float biases = f->options.has_bias ? row[rank] + column[rank] : 0;
    return (float)f->ratings.mean + biases + product;
}
