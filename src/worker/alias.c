#include "worker/alias.h"

#include <errno.h>
#include <stdlib.h>

/* State of the construction: how much of a cell each index must still place, and which have less or
 * more than one. */
struct building {
    const double *weights;
    double *part;
    uint64_t *list; /* from the front: indices with less than a cell; from the back: the others */
    uint64_t less, more, count, heaviest;
};

static uint64_t threshold_of(double part)
{
    uint64_t t = part < 1 ? (uint64_t)(part * 0x1p64) : UINT64_MAX;
    return t > 0 ? t : 1;
}

static void sort_in(struct building *b, uint64_t i)
{
    if (b->part[i] < 1)
        b->list[b->less++] = i;
    else
        b->list[b->count - ++b->more] = i;
}

static void find_parts(struct building *b)
{
    long double sum = 0;
    b->heaviest = 0;
    for (uint64_t i = 1; i < b->count; i++)
        if (b->weights[i] > b->weights[b->heaviest]) b->heaviest = i;
    /* By the heaviest first: a sum of the weights themselves may be infinite. */
    double most = b->weights[b->heaviest];
    for (uint64_t i = 0; i < b->count; i++) sum += b->part[i] = b->weights[i] / most;
    double scale = (double)((long double)b->count / sum);
    for (uint64_t i = 0; i < b->count; i++) {
        b->part[i] *= scale;
        sort_in(b, i);
    }
}

/* An index whose weight is 0 keeps nothing of its cell. */
static struct alias_cell cell_of(const struct building *b, uint64_t i, uint64_t other)
{
    return (struct alias_cell){b->weights[i] > 0 ? threshold_of(b->part[i]) : 0, other};
}

static void build(struct building *b, struct alias_cell *cell)
{
    while (b->less > 0 && b->more > 0) {
        uint64_t small = b->list[--b->less], large = b->list[b->count - b->more--];
        cell[small] = cell_of(b, small, large);
        b->part[large] = b->part[large] + b->part[small] - 1;
        sort_in(b, large);
    }
    /* What is left on one side has a whole cell but for rounding; nothing, if its weight is 0. */
    while (b->less + b->more > 0) {
        uint64_t i = b->less > 0 ? b->list[--b->less] : b->list[b->count - b->more--];
        bool possible = b->weights[i] > 0;
        cell[i] = (struct alias_cell){possible ? UINT64_MAX : 0, possible ? i : b->heaviest};
    }
}

int alias_init(struct alias *a, const double *weights, uint64_t count)
{
    struct building b = {.weights = weights, .count = count};
    *a = (struct alias){.count = count};
    a->cell = calloc(count, sizeof *a->cell);
    b.part = calloc(count, sizeof *b.part);
    b.list = calloc(count, sizeof *b.list);
    int rc = a->cell && b.part && b.list ? 0 : -ENOMEM;
    if (rc == 0) {
        find_parts(&b);
        build(&b, a->cell);
        for (uint64_t i = 0; i < count; i++) a->possible += alias_is_possible(a, i);
    } else {
        alias_fini(a);
    }
    free(b.part);
    free(b.list);
    return rc;
}

void alias_fini(struct alias *a)
{
    free(a->cell);
    a->cell = NULL;
}

void alias_weights(const struct alias *a, double *weights)
{
    for (uint64_t i = 0; i < a->count; i++) weights[i] = (double)a->cell[i].threshold;
    for (uint64_t i = 0; i < a->count; i++)
        if (a->cell[i].other != i)
            weights[a->cell[i].other] += 0x1p64 - (double)a->cell[i].threshold;
}
