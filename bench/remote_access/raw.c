/* The floors: raw connections that carry as many bytes as the calls. */
#include "bench.h"

#include "../common/raw_floor.h"

static struct raw_task task_of(const struct step *s, unsigned length, unsigned batch)
{
    return (struct raw_task){
        .kind = s->kind == PINGPONG ? RAW_PINGPONG : RAW_STREAM,
        .request = request_bytes(batch),
        .answer = answer_bytes(length, batch),
        .write = s->bytes,
        .spins = s->spins,
        .pinned = s->pinned,
    };
}

void raw_measure(struct bench *b, unsigned length, unsigned batch, enum step_id step,
                 unsigned repetition)
{
    struct cell *c = &b->cells[length][batch][step];
    const struct raw_floor floor = {.other = b->raw,
                                    .task = task_of(&steps[step], length, batch),
                                    .buffer = b->values,
                                    .warm_ns = b->warm_ns,
                                    .timed_ns = b->timed_ns / 2,
                                    .clock_cost = b->run.clock_cost};
    const struct raw_figures figures = {
        .times = &c->times, .all_trips = &c->calls, .bytes_per_s = c->bytes_per_s};
    struct usage before = usage_now(b, b->raw);
    if (!raw_floor_measure(&floor, repetition, &figures)) return;
    struct usage after = usage_now(b, b->raw);
    usage_note(c, &before, &after);
    c->measured = true;
}
