#include "filter.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;
    if (x->subject != y->subject) return x->subject < y->subject ? -1 : 1;
    if (x->relation != y->relation) return x->relation < y->relation ? -1 : 1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return 0;
}

static size_t sort_and_unite(struct fact *facts, size_t count)
{
    size_t kept = 0;
    qsort(facts, count, sizeof *facts, compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare(&facts[i], &facts[kept - 1]) != 0) facts[kept++] = facts[i];
    }
    return kept;
}

void filter_init_places(struct filter *f, const struct graph *g)
{
    const struct facts *facts = &g->splits[GRAPH_TRAIN];
    for (int side = 0; side < FILTER_SIDES; side++) {
        struct fact *to = f->sorted[side] = take_memory(facts->count, sizeof *to);
        for (size_t i = 0; i < facts->count; i++) {
            const struct fact *fact = &facts->list[i];
            to[i] = (struct fact){fact->relation, 0,
                                  side == FILTER_OBJECTS ? fact->object : fact->subject};
        }
        f->count[side] = sort_and_unite(to, facts->count);
    }
}

void filter_init(struct filter *f, const struct graph *g)
{
    size_t total = 0;
    for (int split = 0; split < GRAPH_SPLITS; split++) total += g->splits[split].count;
    for (int side = 0; side < FILTER_SIDES; side++) {
        struct fact *to = f->sorted[side] = take_memory(total, sizeof *to);
        for (int split = 0; split < GRAPH_SPLITS; split++) {
            for (size_t i = 0; i < g->splits[split].count; i++) {
                struct fact fact = g->splits[split].list[i];
                *to++ = side == FILTER_OBJECTS
                            ? fact
                            : (struct fact){fact.object, fact.relation, fact.subject};
            }
        }
        f->count[side] = sort_and_unite(f->sorted[side], total);
    }
}

void filter_fini(struct filter *f)
{
    for (int side = 0; side < FILTER_SIDES; side++) free(f->sorted[side]);
    *f = (struct filter){0};
}

/* The first fact that is not before (given, relation, 0). */
static size_t lower_bound(const struct fact *facts, size_t count, struct fact wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&facts[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct fact *filter_answers(const struct filter *f, enum filter_side side, uint32_t given,
                                  uint32_t relation, size_t *count)
{
    const struct fact *facts = f->sorted[side];
    size_t first = lower_bound(facts, f->count[side], (struct fact){given, relation, 0});
    size_t end = first;
    while (end < f->count[side] && facts[end].subject == given && facts[end].relation == relation)
        end++;
    *count = end - first;
    return facts + first;
}
