#include "spread.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of_sorted(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

struct spread spread_of(const double *values, size_t count)
{
    assert(count > 0 && count <= SPREAD_MAX);
    double sorted[SPREAD_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    struct spread s = {
        .median = median_of_sorted(sorted, count), .min = sorted[0], .max = sorted[count - 1]};
    for (size_t i = 0; i < count; i++) sorted[i] = fabs(values[i] - s.median);
    qsort(sorted, count, sizeof *sorted, by_value);
    s.mad = median_of_sorted(sorted, count);
    return s;
}

struct spread spread_of_ratios(const double *values, const double *floor, size_t count)
{
    double ratios[SPREAD_MAX];
    assert(count <= SPREAD_MAX);
    for (size_t i = 0; i < count; i++) ratios[i] = floor[i] > 0 ? values[i] / floor[i] : 0;
    return spread_of(ratios, count);
}
