/* The floors: raw connections that carry as many bytes. */
#include "bench.h"

#include "../common/raw.h"

enum { TRIPS_MIN = 8 };

static void round_trips(struct bench *b, struct cell *c, int fd, const struct raw_task *t,
                        unsigned repetition)
{
    static struct latency times;
    raw_round_trips(fd, t, b->buffer, b->warm_ns, TRIPS_MIN, b->clock_cost, &times);
    latency_clear(&times);
    c->calls +=
        raw_round_trips(fd, t, b->buffer, b->timed_ns / 2, TRIPS_MIN, b->clock_cost, &times);
    times_note(&c->times, &times, repetition);
}

static void stream(struct bench *b, struct cell *c, int fd, const struct raw_task *t,
                   unsigned repetition)
{
    raw_receive_for(fd, t, b->buffer, b->warm_ns);
    c->per_s[repetition] = raw_receive_for(fd, t, b->buffer, b->timed_ns / 2);
}

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
    if (!raw_can(&t)) return;
    int fd = raw_open(b->raw, &t);
    if (s->kind == ROUND_TRIP) round_trips(b, c, fd, &t, repetition);
    if (s->kind == ONE_WAY) stream(b, c, fd, &t, repetition);
    raw_close(fd);
    c->measured = true;
}
