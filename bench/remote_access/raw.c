/* The floors: raw connections that carry as many bytes as the calls. */
#include "bench.h"

#include "../common/raw.h"

static void pingpong(struct bench *b, struct cell *c, int fd, const struct raw_task *t,
                     unsigned repetition)
{
    static struct latency times;
    c->calls += raw_round_trips(fd, t, b->values, b->warm_ns, FLIGHT_MAX, b->clock_cost, &times);
    latency_clear(&times);
    c->calls +=
        raw_round_trips(fd, t, b->values, b->timed_ns / 2, FLIGHT_MAX, b->clock_cost, &times);
    times_note(&c->times, &times, repetition);
}

static void stream(struct bench *b, struct cell *c, int fd, const struct raw_task *t,
                   unsigned repetition)
{
    raw_receive_for(fd, t, b->values, b->warm_ns);
    c->bytes_per_s[repetition] = raw_receive_for(fd, t, b->values, b->timed_ns / 2);
}

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
    const struct step *s = &steps[step];
    struct cell *c = &b->cells[length][batch][step];
    struct raw_task t = task_of(s, length, batch);
    if (!raw_can(&t)) return;
    struct usage before = usage_now(b, b->raw);
    int fd = raw_open(b->raw, &t);
    if (s->kind == PINGPONG) pingpong(b, c, fd, &t, repetition);
    if (s->kind == STREAM) stream(b, c, fd, &t, repetition);
    raw_close(fd);
    struct usage after = usage_now(b, b->raw);
    usage_note(c, &before, &after);
    c->measured = true;
}
