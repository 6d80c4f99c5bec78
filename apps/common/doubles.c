#include "doubles.h"

#include <math.h>

enum { EXPONENT = 3 };

void doubles_put(float *floats, const double *figures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float *to = floats + i * DOUBLES_FLOATS;
        int exponent = 0;
        double left = isfinite(figures[i]) ? frexp(figures[i], &exponent) : figures[i];
        for (size_t j = 0; j < EXPONENT; j++) {
            to[j] = (float)left;
            left = isfinite(left) ? left - (double)to[j] : 0;
        }
        to[EXPONENT] = (float)exponent;
    }
}

void doubles_add(double *figures, const float *floats, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float *from = floats + i * DOUBLES_FLOATS;
        double sum = 0;
        for (size_t j = 0; j < EXPONENT; j++) sum += (double)from[j];
        figures[i] += ldexp(sum, (int)from[EXPONENT]);
    }
}
