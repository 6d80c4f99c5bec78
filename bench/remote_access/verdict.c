/* What the repetitions say together. */
#include "bench.h"

#include <string.h>

void best_pingpong(const struct bench *b, unsigned length, unsigned batch, double floor[SPREAD_MAX])
{
    const struct cell *any = &b->cells[length][batch][PINGPONG_SPIN],
                      *pinned = &b->cells[length][batch][PINGPONG_SPIN_PINNED];
    memcpy(floor, any->times.p50, sizeof any->times.p50);
    if (pinned->measured) run_least(&b->run, floor, pinned->times.p50);
}

void best_stream(const struct bench *b, unsigned length, unsigned batch, double floor[SPREAD_MAX])
{
    static const enum step_id streams[] = {STREAM_64K, STREAM_1M, STREAM_64K_PINNED,
                                           STREAM_1M_PINNED};
    memset(floor, 0, SPREAD_MAX * sizeof *floor);
    for (unsigned i = 0; i < 4; i++)
        run_most(&b->run, floor, b->cells[length][batch][streams[i]].bytes_per_s);
}
