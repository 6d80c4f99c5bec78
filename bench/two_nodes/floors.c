/* The floors: raw connections that carry as many bytes as the calls. */
#include "bench.h"

#include "../common/raw.h"

enum { TRIPS_MIN = 8 };

static void ping_pong(struct bench *b, int fd, const struct raw_task *t, unsigned repetition,
                      struct cell *c)
{
    static struct latency times;
    uint64_t cost = b->run.clock_cost;
    c->calls += raw_round_trips(fd, t, b->values, b->warm_ns, TRIPS_MIN, cost, &times);
    latency_clear(&times);
    c->calls += raw_round_trips(fd, t, b->values, b->timed_ns / 2, TRIPS_MIN, cost, &times);
    times_note(&c->times, &times, repetition);
}

void floor_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition)
{
    const struct step *s = &steps[step];
    struct cell *c = &b->cells[step];
    const struct raw_task t = {
        .kind = s->kind == PINGPONG ? RAW_PINGPONG : RAW_STREAM,
        .request = request_bytes(at),
        .answer = answer_bytes(at),
        .write = s->bytes,
        .spins = s->spins,
        .pinned = s->pinned,
    };
    if (!raw_can(&t)) return;
    struct node_figures here = node_figures(NULL), there = node_process_figures(b->raw);
    int fd = raw_open(b->raw, &t);
    if (s->kind == PINGPONG) {
        ping_pong(b, fd, &t, repetition, c);
    } else {
        raw_receive_for(fd, &t, b->values, b->warm_ns);
        c->per_s[repetition] = raw_receive_for(fd, &t, b->values, b->timed_ns / 2);
    }
    raw_close(fd);
    struct node_figures here_after = node_figures(NULL), there_after = node_process_figures(b->raw);
    node_figures_add(&c->here, &here, &here_after);
    node_figures_add(&c->there, &there, &there_after);
    c->measured = true;
}
