/* Which cells are measured, at what sizes, and what they are called. */
#include "bench.h"

#include <inttypes.h>

const uint32_t lengths[LENGTHS] = {16, 128, 1000};

const struct step steps[STEPS] = {
    [PINGPONG] = {"pingpong spinning", .kind = ROUND_TRIP},
    [LOCALIZE_1] = {"localize keys=1", .kind = ONE_BY_ONE},
    [PINGPONG_PINNED] = {"pingpong spinning pinned", .kind = ROUND_TRIP, .pinned = true},
    [LOCALIZE_BLOCK] = {"localize keys=1000", .kind = BY_BLOCKS},
    [STREAM_64K] = {"stream write=64KiB", .kind = ONE_WAY, .bytes = 64 << 10},
    [STREAM_64K_PINNED] = {"stream write=64KiB pinned", .kind = ONE_WAY, .bytes = 64 << 10,
                           .pinned = true},
    [BLOCKS] = {"blocks", .kind = TO_AND_FRO},
    [STREAM_1M] = {"stream write=1MiB", .kind = ONE_WAY, .bytes = 1 << 20},
    [STREAM_1M_PINNED] = {"stream write=1MiB pinned", .kind = ONE_WAY, .bytes = 1 << 20,
                          .pinned = true},
    [EXCHANGE] = {"exchange", .kind = AT_ONCE},
    [LOCALIZE_1_BUSY] = {"localize keys=1 busy", .kind = ONE_BY_ONE, .is_busy = true},
    [LOCALIZE_BLOCK_BUSY] = {"localize keys=1000 busy", .kind = BY_BLOCKS, .is_busy = true},
    [BLOCKS_BUSY] = {"blocks busy", .kind = TO_AND_FRO, .is_busy = true},
    [EXCHANGE_BUSY] = {"exchange busy", .kind = AT_ONCE, .is_busy = true},
};

/* 6 to 40 MB of values. An even number of blocks: each node has half of them when both take at
 * once. */
uint64_t rows_of(bool is_quick, unsigned length)
{
    static const uint64_t blocks[LENGTHS] = {100, 50, 10};
    static const uint64_t blocks_quick[LENGTHS] = {8, 6, 4};
    return BLOCK_KEYS * (is_quick ? blocks_quick : blocks)[length];
}

size_t row_bytes(unsigned length)
{
    return lengths[length] * sizeof(float);
}

/* Each way 40 bytes for the message and 40 for the key. */
enum { HEADER = 40 };

uint64_t request_bytes(void)
{
    return (uint64_t)2 * HEADER;
}

uint64_t answer_bytes(unsigned length)
{
    return request_bytes() + row_bytes(length);
}

size_t raw_bytes_max(void)
{
    return 1 << 20;
}

void step_name(char *name, size_t capacity, unsigned length, enum step_id step)
{
    snprintf(name, capacity, "%s length=%" PRIu32, steps[step].name, lengths[length]);
}

static bool step_chosen(const struct bench *b, unsigned length, enum step_id step)
{
    char name[96];
    if (b->run.options.demo && (lengths[length] != 128 || steps[step].is_busy)) return false;
    step_name(name, sizeof name, length, step);
    return run_selects(&b->run, name);
}

static bool some_take_chosen(const struct bench *b, unsigned length)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (!is_floor((enum step_id)s) && step_chosen(b, length, (enum step_id)s)) return true;
    }
    return false;
}

/* Floors are measured, too, when a step that is compared with them is chosen. */
bool step_selected(const struct bench *b, unsigned length, enum step_id step)
{
    if (!is_floor(step)) return step_chosen(b, length, step);
    return !b->calls_only && (some_take_chosen(b, length) || step_chosen(b, length, step));
}

bool length_selected(const struct bench *b, unsigned length)
{
    bool any = false;
    for (unsigned s = 0; s < STEPS; s++) any |= step_selected(b, length, (enum step_id)s);
    return any;
}
