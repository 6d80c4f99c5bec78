#include "raw_floor.h"

enum { TRIPS_MIN = 8 };

static void add(uint64_t *sum, uint64_t trips)
{
    if (sum) *sum += trips;
}

static void ping_pong(const struct raw_floor *f, int fd, unsigned repetition,
                      const struct raw_figures *figures)
{
    static struct latency times;
    add(figures->all_trips,
        raw_round_trips(fd, &f->task, f->buffer, f->warm_ns, TRIPS_MIN, f->clock_cost, &times));
    latency_clear(&times);
    uint64_t trips =
        raw_round_trips(fd, &f->task, f->buffer, f->timed_ns, TRIPS_MIN, f->clock_cost, &times);
    add(figures->all_trips, trips);
    add(figures->trips, trips);
    times_note(figures->times, &times, repetition);
}

static void stream(const struct raw_floor *f, int fd, unsigned repetition,
                   const struct raw_figures *figures)
{
    raw_receive_for(fd, &f->task, f->buffer, f->warm_ns);
    figures->bytes_per_s[repetition] = raw_receive_for(fd, &f->task, f->buffer, f->timed_ns);
}

bool raw_floor_measure(const struct raw_floor *f, unsigned repetition,
                       const struct raw_figures *figures)
{
    if (!raw_can(&f->task)) return false;
    int fd = raw_open(f->other, &f->task);
    if (f->task.kind == RAW_PINGPONG) ping_pong(f, fd, repetition, figures);
    if (f->task.kind == RAW_STREAM) stream(f, fd, repetition, figures);
    raw_close(fd);
    return true;
}
