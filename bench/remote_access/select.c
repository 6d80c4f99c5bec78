/* Which cells are measured, at what sizes, and what they are called. */
#include "bench.h"

#include <inttypes.h>

const uint32_t lengths[LENGTHS] = {16, 128, 1000};
const unsigned batches[BATCHES] = {1, 64, 1024};

const struct step steps[STEPS] = {
    [PINGPONG_SPIN] = {"pingpong spinning", .kind = PINGPONG, .spins = true},
    [PULL_1] = {"pull flight=1", .kind = PULL, .flight = 1},
    [PUSH_1] = {"push flight=1", .kind = PUSH, .flight = 1},
    [SET_1] = {"set flight=1", .kind = SET, .flight = 1},
    [PINGPONG_SPIN_PINNED] = {"pingpong spinning pinned", .kind = PINGPONG, .spins = true,
                              .pinned = true},
    [PULL_8] = {"pull flight=8", .kind = PULL, .flight = FLIGHT_MAX},
    [STREAM_64K] = {"stream write=64KiB", .kind = STREAM, .bytes = 64 << 10},
    [STREAM_64K_PINNED] = {"stream write=64KiB pinned", .kind = STREAM, .bytes = 64 << 10,
                           .pinned = true},
    [PUSH_8] = {"push flight=8", .kind = PUSH, .flight = FLIGHT_MAX},
    [STREAM_1M] = {"stream write=1MiB", .kind = STREAM, .bytes = 1 << 20},
    [STREAM_1M_PINNED] = {"stream write=1MiB pinned", .kind = STREAM, .bytes = 1 << 20,
                          .pinned = true},
    [SET_8] = {"set flight=8", .kind = SET, .flight = FLIGHT_MAX},
    [PINGPONG_BLOCK] = {"pingpong blocking", .kind = PINGPONG},
    [PINGPONG_BLOCK_PINNED] = {"pingpong blocking pinned", .kind = PINGPONG, .pinned = true},
};

/* 25 to 80 MB of values, half of them on node 1. */
uint64_t rows_of(const struct bench *b, unsigned length)
{
    static const uint64_t rows[LENGTHS] = {400000, 100000, 20000};
    return b->run.options.quick ? rows[length] / 10 : rows[length];
}

size_t row_bytes(unsigned length)
{
    return lengths[length] * sizeof(float);
}

/* A call's headers and its rows': 40 bytes for the call, 40 for each key, each way. */
enum { HEADER = 40 };

uint64_t request_bytes(unsigned batch)
{
    return HEADER + (uint64_t)batches[batch] * HEADER;
}

uint64_t answer_bytes(unsigned length, unsigned batch)
{
    return HEADER + batches[batch] * (HEADER + (uint64_t)row_bytes(length));
}

size_t values_bytes_max(void)
{
    return (size_t)FLIGHT_MAX * batches[BATCHES - 1] * row_bytes(LENGTHS - 1);
}

void step_name(char *name, size_t capacity, unsigned length, unsigned batch, enum step_id step)
{
    snprintf(name, capacity, "%s length=%" PRIu32 " keys=%u", steps[step].name, lengths[length],
             batches[batch]);
}

static bool step_chosen(const struct bench *b, unsigned length, unsigned batch, enum step_id step)
{
    char name[96];
    if (b->run.options.demo &&
        (lengths[length] != 128 || batches[batch] == 64 || steps[step].kind == SET))
        return false;
    step_name(name, sizeof name, length, batch, step);
    return run_selects(&b->run, name);
}

static bool some_call_chosen(const struct bench *b, unsigned length, unsigned batch)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (steps[s].flight > 0 && step_chosen(b, length, batch, (enum step_id)s)) return true;
    }
    return false;
}

/* Floors are measured, too, when a call that is compared with them is chosen; streams say nothing
 * about few keys. */
bool step_selected(const struct bench *b, unsigned length, unsigned batch, enum step_id step)
{
    if (b->calls_only && steps[step].flight == 0) return false;
    if (steps[step].kind == STREAM && batch + 1 != BATCHES) return false;
    if (steps[step].flight == 0 && some_call_chosen(b, length, batch)) return true;
    return step_chosen(b, length, batch, step);
}

bool setting_selected(const struct bench *b, unsigned length, unsigned batch)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (step_selected(b, length, batch, (enum step_id)s)) return true;
    }
    return false;
}

bool idle_selected(const struct bench *b)
{
    return run_selects(&b->run, "idle");
}

bool anything_selected(const struct bench *b)
{
    bool any = idle_selected(b);
    for (unsigned length = 0; length < LENGTHS; length++) {
        for (unsigned batch = 0; batch < BATCHES; batch++)
            any |= setting_selected(b, length, batch);
    }
    return any;
}
