#include "search.h"

#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_EVERY = 4096 };

static struct {
    uint64_t *seen; /* hashes of states, by hash; 0: free */
    uint64_t capacity;
    uint64_t states_max;
    struct search_result result;
    struct search_way own, *way;
    char *copy[SEARCH_STEPS_MAX];
} search;

static uint64_t *place_of(uint64_t hash)
{
    uint64_t at = hash & (search.capacity - 1);
    while (search.seen[at] && search.seen[at] != hash) at = (at + 1) & (search.capacity - 1);
    return &search.seen[at];
}

static void make_room(uint64_t capacity)
{
    uint64_t *before = search.seen, count = search.capacity;
    search.seen = arena_outside(capacity * sizeof *search.seen);
    search.capacity = capacity;
    if (!search.seen) abort();
    for (uint64_t i = 0; i < count; i++)
        if (before[i]) *place_of(before[i]) = before[i];
    arena_outside_free(before);
}

/* False: the state was here already. */
static bool note_state(uint64_t hash)
{
    hash |= 1;
    uint64_t *place = place_of(hash);
    if (*place) return false;
    *place = hash;
    if (++search.result.states * 2 > search.capacity) make_room(2 * search.capacity);
    return true;
}

void search_keep_way(struct search_way *way)
{
    search.way = way;
}

void search_print_way(const struct search_way *way)
{
    world_open(&way->scenario);
    for (unsigned i = 0; i < way->steps; i++) {
        world_print_choice(way->step[i]);
        if (i + 1 < way->steps) world_do(way->step[i]);
    }
}

static void violated(const char *what, unsigned depth)
{
    char text[200];
    search.result.end = SEARCH_VIOLATION;
    printf("violation: %s\n  replay: exhaustive --scenario \"%s\"\n", what,
           scenario_text(&search.way->scenario, text, sizeof text));
    if (depth > 0) world_restore(search.copy[0]);
    for (unsigned i = 0; i < depth; i++) {
        world_print_choice(search.way->step[i]);
        world_do(search.way->step[i]);
    }
    world_print();
}

/* Now and then: does the same way from the beginning lead to the same state, or is a copy not all
 * there is to it? */
static bool is_reproduced(unsigned depth)
{
    uint64_t hash = world_hash();
    if (search.result.states % CHECK_EVERY) return true;
    world_open(&search.way->scenario);
    for (unsigned i = 0; i < depth; i++) world_do(search.way->step[i]);
    return world_hash() == hash;
}

static void save(unsigned depth)
{
    if (!search.copy[depth]) search.copy[depth] = arena_outside(WORLD_COPY_BYTES);
    if (!search.copy[depth]) abort();
    world_save(search.copy[depth]);
}

static void explore(unsigned depth)
{
    struct world_choice choice[WORLD_CHOICES_MAX];
    uint64_t hash = world_hash();
    if (!note_state(hash)) return;
    bool moves = false;
    unsigned choices = world_choices(choice);
    const char *wrong = world_check(choices == 0);
    if (depth > search.result.longest) search.result.longest = depth;
    if (depth == SEARCH_STEPS_MAX - 1 && !wrong) wrong = "no end";
    if (!wrong && !is_reproduced(depth))
        wrong = "the copy of a state lacks something of it: see world_save()";
    if (wrong) {
        violated(wrong, depth);
        return;
    }
    if (search.result.states >= search.states_max) search.result.end = SEARCH_TOO_LARGE;
    search.result.ends += choices == 0;
    if (choices > 0) save(depth);
    for (unsigned i = 0; i < choices && search.result.end == SEARCH_GOOD; i++) {
        if (i > 0) world_restore(search.copy[depth]);
        search.way->step[depth] = choice[i];
        search.way->steps = depth + 1;
        world_do(choice[i]);
        search.result.steps++;
        moves |= world_hash() != hash;
        explore(depth + 1);
    }
    /* Turns that change nothing: this is rest, too. */
    if (choices == 0 || moves || search.result.end != SEARCH_GOOD) return;
    world_restore(search.copy[depth]);
    search.result.ends++;
    search.way->steps = depth;
    wrong = world_check(true);
    if (wrong) violated(wrong, depth);
}

struct search_result search_all(const struct scenario *s, uint64_t states_max)
{
    search.result = (struct search_result){.end = SEARCH_GOOD};
    search.states_max = states_max;
    if (!search.way) search.way = &search.own;
    search.way->scenario = *s;
    search.way->steps = 0;
    make_room(1 << 12);
    world_open(s);
    explore(0);
    if (search.result.end == SEARCH_GOOD) {
        world_restore(search.copy[0]);
        world_close();
    }
    arena_outside_free(search.seen);
    search.seen = NULL;
    search.capacity = 0;
    return search.result;
}
