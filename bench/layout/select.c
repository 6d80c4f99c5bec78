/* The layouts and the cells there are, at what sizes, and what they are called. */
#include "layout.h"

#include <inttypes.h>
#include <stdlib.h>

const uint32_t lengths[LENGTHS] = {1, 16, 128, 1000};
const struct layout *const layouts[LAYOUTS] = {&layout_array, &layout_word, &layout_word_near,
                                               &layout_row, &layout_row_padded};
const char *const operation_names[OPERATIONS] = {"pull", "pull", "push", "push"};
const unsigned operation_keys[OPERATIONS] = {1, BATCH, 1, BATCH};

void expect_no_misses(size_t misses)
{
    if (misses == 0) return;
    fprintf(stderr, "layout: %zu rows could not be written, or were not where they should be\n",
            misses);
    exit(1);
}

uint64_t rows_of(const struct bench *b, uint32_t length)
{
    uint64_t rows = length < 1000 ? 1000000 : 100000;
    return b->options.quick ? rows / 50 : rows;
}

/* Enough rows that they cannot all come from the caches, few enough that a step takes about 10
 * ms. */
size_t keys_of_step(const struct bench *b, uint32_t length)
{
    if (b->options.quick) return 4096;
    size_t keys = ((size_t)64 << 20) / (length * sizeof(float));
    if (keys > (size_t)1 << 19) keys = (size_t)1 << 19;
    return keys / BATCH * BATCH;
}

void cell_name(char *name, size_t room, const struct bench *b, unsigned length, unsigned choice,
               unsigned team, unsigned operation, unsigned layout)
{
    snprintf(name, room, "%s %s length=%" PRIu32 " keys=%u %s threads=%u", layouts[layout]->name,
             operation_names[operation], lengths[length], operation_keys[operation],
             key_choice_name((enum key_choice)choice), b->teams[team]);
}

/* The demo shows uniform keys on one thread and Zipf keys on all, of rows that are one cache
 * line. */
static bool setting_in_mode(const struct bench *b, unsigned length, unsigned choice, unsigned team)
{
    if (!b->options.demo) return true;
    return lengths[length] == 16 && team == (choice == KEYS_UNIFORM ? 0 : b->team_count - 1);
}

static bool cell_chosen(const struct bench *b, unsigned length, unsigned choice, unsigned team,
                        unsigned operation, unsigned layout)
{
    char name[96];
    cell_name(name, sizeof name, b, length, choice, team, operation, layout);
    return setting_in_mode(b, length, choice, team) && options_select(&b->options, name);
}

/* The array is measured, too, wherever something is to be compared with it. */
bool cell_selected(const struct bench *b, unsigned length, unsigned choice, unsigned team,
                   unsigned operation, unsigned layout)
{
    if (layout != ARRAY) return cell_chosen(b, length, choice, team, operation, layout);
    for (unsigned any = 0; any < LAYOUTS; any++) {
        if (cell_chosen(b, length, choice, team, operation, any)) return true;
    }
    return false;
}

bool setting_selected(const struct bench *b, unsigned length, unsigned choice, unsigned team)
{
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        if (cell_selected(b, length, choice, team, operation, ARRAY)) return true;
    }
    return false;
}

bool layout_selected(const struct bench *b, unsigned length, unsigned layout)
{
    for (unsigned setting = 0; setting < CHOICES * b->team_count; setting++) {
        for (unsigned operation = 0; operation < OPERATIONS; operation++) {
            if (cell_selected(b, length, setting % CHOICES, setting / CHOICES, operation, layout))
                return true;
        }
    }
    return false;
}

bool length_selected(const struct bench *b, unsigned length)
{
    return layout_selected(b, length, ARRAY);
}
