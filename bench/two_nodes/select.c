/* Which cells are measured, at what sizes, and what they are called. */
#include "bench.h"

#include <inttypes.h>
#include <string.h>

const uint32_t lengths[LENGTHS] = {16, 128, 1000};
const unsigned batches[BATCHES] = {1, 64, 1024};

/* name, kind, phase, flight, spins, pinned, bytes, busy */
const struct step steps[STEPS] = {
    {"pingpong spinning", PINGPONG, ACCESS, 0, true, false, 0, false},
    {"pull flight=1", PULL, ACCESS, 1, false, false, 0, false},
    {"push flight=1", PUSH, ACCESS, 1, false, false, 0, false},
    {"set flight=1", SET, ACCESS, 1, false, false, 0, false},
    {"pingpong spinning pinned", PINGPONG, ACCESS, 0, true, true, 0, false},
    {"pull flight=8", PULL, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"stream write=64KiB", STREAM, ACCESS, 0, false, false, 64 << 10, false},
    {"stream write=64KiB pinned", STREAM, ACCESS, 0, false, true, 64 << 10, false},
    {"push flight=8", PUSH, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"stream write=1MiB", STREAM, ACCESS, 0, false, false, 1 << 20, false},
    {"stream write=1MiB pinned", STREAM, ACCESS, 0, false, true, 1 << 20, false},
    {"set flight=8", SET, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"pingpong blocking", PINGPONG, ACCESS, 0, false, false, 0, false},
    {"pingpong blocking pinned", PINGPONG, ACCESS, 0, false, true, 0, false},

    {"pingpong spinning", PINGPONG, RELOCATION, 0, true, false, 0, false},
    {"localize keys=1", ONE_BY_ONE, RELOCATION, 1, false, false, 0, false},
    {"pingpong spinning pinned", PINGPONG, RELOCATION, 0, true, true, 0, false},
    {"localize keys=1000", BY_BLOCKS, RELOCATION, 1, false, false, 0, false},
    {"stream write=64KiB", STREAM, RELOCATION, 0, false, false, 64 << 10, false},
    {"stream write=64KiB pinned", STREAM, RELOCATION, 0, false, true, 64 << 10, false},
    {"blocks", TO_AND_FRO, RELOCATION, FLIGHT_MAX, false, false, 0, false},
    {"stream write=1MiB", STREAM, RELOCATION, 0, false, false, 1 << 20, false},
    {"stream write=1MiB pinned", STREAM, RELOCATION, 0, false, true, 1 << 20, false},
    {"exchange", AT_ONCE, RELOCATION, FLIGHT_MAX, false, false, 0, false},
    {"localize keys=1 busy", ONE_BY_ONE, RELOCATION, 1, false, false, 0, true},
    {"localize keys=1000 busy", BY_BLOCKS, RELOCATION, 1, false, false, 0, true},
    {"blocks busy", TO_AND_FRO, RELOCATION, FLIGHT_MAX, false, false, 0, true},
    {"exchange busy", AT_ONCE, RELOCATION, FLIGHT_MAX, false, false, 0, true},
};

struct setting setting_at(enum phase phase, unsigned number)
{
    return (struct setting){phase, number / BATCHES, number % BATCHES};
}

/* 25 to 80 MB of values, half of them on node 1; where rows move 6 to 40, and an even number of
 * blocks: each node has half of them when both take at once. */
uint64_t rows_of(enum phase phase, bool is_quick, unsigned length)
{
    static const uint64_t accessed[LENGTHS] = {400000, 100000, 20000};
    static const uint64_t blocks[2][LENGTHS] = {{100, 50, 10}, {8, 6, 4}};
    if (phase == RELOCATION) return BLOCK_KEYS * blocks[is_quick][length];
    return is_quick ? accessed[length] / 10 : accessed[length];
}

size_t row_bytes(unsigned length)
{
    return lengths[length] * sizeof(float);
}

/* A call's headers and its rows': 40 bytes for the call, 40 for each key, each way. */
enum { HEADER = 40 };

uint64_t request_bytes(struct setting at)
{
    return HEADER + (uint64_t)batches[at.batch] * HEADER;
}

uint64_t answer_bytes(struct setting at)
{
    return HEADER + batches[at.batch] * (HEADER + (uint64_t)row_bytes(at.length));
}

size_t values_bytes_max(void)
{
    return (size_t)FLIGHT_MAX * batches[BATCHES - 1] * row_bytes(LENGTHS - 1);
}

void step_name(char *name, size_t capacity, struct setting at, unsigned step)
{
    int n = snprintf(name, capacity, "%s length=%" PRIu32, steps[step].name, lengths[at.length]);
    if (at.phase == ACCESS) snprintf(name + n, capacity - (size_t)n, " keys=%u", batches[at.batch]);
}

static bool is_shown(const struct options *o, struct setting at, const struct step *s)
{
    if (o->demo && (s->kind == SET || s->is_busy)) return false;
    return !(o->demo || o->quick) || (lengths[at.length] == 128 && batches[at.batch] != 64);
}

static bool step_chosen(const struct bench *b, struct setting at, unsigned step)
{
    char name[96];
    if (!is_shown(&b->run.options, at, &steps[step])) return false;
    step_name(name, sizeof name, at, step);
    return run_selects(&b->run, name);
}

static bool some_call_chosen(const struct bench *b, struct setting at)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (steps[s].phase == at.phase && !is_floor(&steps[s]) && step_chosen(b, at, s))
            return true;
    }
    return false;
}

/* Floors are measured, too, when a call that is compared with them is chosen; streams say nothing
 * about few keys. */
bool step_selected(const struct bench *b, struct setting at, unsigned step)
{
    const struct step *s = &steps[step];
    if (s->phase != at.phase || (at.phase == RELOCATION && at.batch > 0)) return false;
    if (!is_floor(s)) return step_chosen(b, at, step);
    if (b->calls_only) return false;
    if (s->kind == STREAM && at.phase == ACCESS && at.batch + 1 != BATCHES) return false;
    return some_call_chosen(b, at) || step_chosen(b, at, step);
}

bool setting_selected(const struct bench *b, struct setting at)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (step_selected(b, at, s)) return true;
    }
    return false;
}

bool idle_selected(const struct bench *b)
{
    return run_selects(&b->run, "idle");
}
