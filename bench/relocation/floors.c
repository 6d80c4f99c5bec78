/* The floors: raw connections that carry as many bytes. */
#include "bench.h"

#include "../common/raw_floor.h"

void floor_measure(struct bench *b, unsigned length, enum step_id step, unsigned repetition)
{
    const struct step *s = &steps[step];
    struct cell *c = &b->cells[length][step];
    struct raw_task t = {
        .kind = s->kind == ROUND_TRIP ? RAW_PINGPONG : RAW_STREAM,
        .request = request_bytes(),
        .answer = answer_bytes(length),
        .write = s->bytes,
        .spins = true,
        .pinned = s->pinned,
    };
    const struct raw_floor floor = {.other = b->raw,
                                    .task = t,
                                    .buffer = b->buffer,
                                    .warm_ns = b->warm_ns,
                                    .timed_ns = b->timed_ns / 2,
                                    .clock_cost = b->run.clock_cost};
    const struct raw_figures figures = {
        .times = &c->times, .trips = &c->calls, .bytes_per_s = c->per_s};
    c->measured |= raw_floor_measure(&floor, repetition, &figures);
}
