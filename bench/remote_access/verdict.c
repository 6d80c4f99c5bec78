/* What the repetitions say together. */
#include "bench.h"

#include <math.h>

struct spread over_repetitions(const struct bench *b, const double *values)
{
    return spread_of(values, b->repetitions);
}

void best_pingpong(const struct bench *b, unsigned length, unsigned batch, double floor[SPREAD_MAX])
{
    const struct cell *any = &b->cells[length][batch][PINGPONG_SPIN];
    const struct cell *pinned = &b->cells[length][batch][PINGPONG_SPIN_PINNED];
    for (unsigned r = 0; r < b->repetitions; r++) {
        floor[r] = any->times.p50[r];
        if (pinned->measured && pinned->times.p50[r] < floor[r]) floor[r] = pinned->times.p50[r];
    }
}

void best_stream(const struct bench *b, unsigned length, unsigned batch, double floor[SPREAD_MAX])
{
    static const enum step_id streams[] = {STREAM_64K, STREAM_1M, STREAM_64K_PINNED,
                                           STREAM_1M_PINNED};
    for (unsigned r = 0; r < b->repetitions; r++) {
        floor[r] = 0;
        for (unsigned i = 0; i < 4; i++)
            floor[r] = fmax(floor[r], b->cells[length][batch][streams[i]].bytes_per_s[r]);
    }
}

struct spread ratio_to(const struct bench *b, const double *values, const double *floor)
{
    return spread_of_ratios(values, floor, b->repetitions);
}
