#include "lasso.h"

#include <math.h>

double lasso_lambda(const struct lasso *l, uint64_t step)
{
    const struct lasso_options *o = &l->options;
    double share = (double)(step + 1) / (double)o->path;
    return l->columns.largest * pow(o->lambda, share);
}
