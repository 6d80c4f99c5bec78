/* Which cells are measured, at what sizes, and what they are called. */
#include "bench.h"

#include <inttypes.h>

const uint32_t lengths[LENGTHS] = {1, 16, 128, 1000};

static const char *const watch_keys_names[] = {"one-row", "uniform", "zipf-1.1"};
static const char *const store_names[STORES] = {"locus", "mutex"};

uint64_t rows_of(const struct bench *b, uint32_t length)
{
    uint64_t rows = length < 1000 ? 1000000 : 100000;
    return b->run.options.quick ? rows / 50 : rows;
}

/* Enough rows that they cannot all come from the caches, few enough that a step takes about 10
 * ms. */
size_t keys_of_step(const struct bench *b, uint32_t length)
{
    if (b->run.options.quick) return 4096;
    size_t keys = ((size_t)96 << 20) / (length * sizeof(float));
    if (keys > (size_t)1 << 20) keys = (size_t)1 << 20;
    return keys / BATCH * BATCH;
}

void cell_name(char *name, size_t capacity, const struct bench *b, unsigned length,
               enum key_choice choice, unsigned team, enum step_id step)
{
    char per_call[24] = "";
    if (steps[step].per_call > 0)
        snprintf(per_call, sizeof per_call, " keys=%u", steps[step].per_call);
    snprintf(name, capacity, "%s length=%" PRIu32 "%s %s threads=%u", steps[step].name,
             lengths[length], per_call, key_choice_name(choice), b->teams[team]);
}

void tail_name(char *name, size_t capacity, unsigned length, unsigned watch, enum store store)
{
    snprintf(name, capacity, "latency-%s length=%" PRIu32 " keys=1 %s %s", store_names[store],
             lengths[length], watch_keys_names[watches[watch].keys],
             watches[watch].writer ? "writer" : "quiet");
}

/* The demo shows uniform keys on one thread and Zipf keys on all. */
static bool setting_in_mode(const struct bench *b, unsigned length, enum key_choice choice,
                            unsigned team)
{
    if (!b->run.options.demo) return true;
    return lengths[length] > 1 && team == (choice == KEYS_UNIFORM ? 0 : b->team_count - 1);
}

static bool cell_chosen(const struct bench *b, unsigned length, enum key_choice choice,
                        unsigned team, enum step_id step)
{
    if (!setting_in_mode(b, length, choice, team)) return false;
    if (b->run.options.demo && !steps[step].in_demo) return false;
    char name[96];
    cell_name(name, sizeof name, b, length, choice, team, step);
    return run_selects(&b->run, name);
}

/* A floor is measured, too, when a step that is compared with it is chosen. */
bool cell_selected(const struct bench *b, unsigned length, enum key_choice choice, unsigned team,
                   enum step_id step)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if ((s == step || steps[s].floor == step) &&
            cell_chosen(b, length, choice, team, (enum step_id)s))
            return true;
    }
    return false;
}

bool setting_selected(const struct bench *b, unsigned length, enum key_choice choice, unsigned team)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (cell_chosen(b, length, choice, team, (enum step_id)s)) return true;
    }
    return false;
}

bool tail_selected(const struct bench *b, unsigned length, unsigned watch, enum store store)
{
    if (b->run.options.demo && (lengths[length] != 128 || watch != ONE_ROW_WRITER)) return false;
    char name[96];
    tail_name(name, sizeof name, length, watch, store);
    return run_selects(&b->run, name);
}

bool memory_selected(const struct bench *b, unsigned length)
{
    char name[48];
    snprintf(name, sizeof name, "memory length=%" PRIu32, lengths[length]);
    return !b->run.options.demo && run_selects(&b->run, name);
}

static bool some_setting_selected(const struct bench *b, unsigned length)
{
    for (unsigned team = 0; team < b->team_count; team++) {
        if (setting_selected(b, length, KEYS_UNIFORM, team) ||
            setting_selected(b, length, KEYS_ZIPF, team))
            return true;
    }
    return false;
}

static bool some_tail_selected(const struct bench *b, unsigned length)
{
    for (unsigned watch = 0; watch < WATCHES; watch++) {
        if (tail_selected(b, length, watch, LOCUS) || tail_selected(b, length, watch, MUTEX))
            return true;
    }
    return false;
}

bool length_selected(const struct bench *b, unsigned length)
{
    return memory_selected(b, length) || some_setting_selected(b, length) ||
           some_tail_selected(b, length);
}
