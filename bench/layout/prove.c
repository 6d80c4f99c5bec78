/* Before a layout is timed it shows that it keeps its promises: a fast layout that loses updates
 * would say nothing. */
#include "layout.h"

#include <inttypes.h>
#include <stdlib.h>

enum { THREADS = 2, HOT_ROWS = 4, ROUNDS = 500 };

struct proof {
    const struct layout *layout;
    void *rows;
    uint32_t length;
    float *ones[THREADS], *read[THREADS]; /* BATCH rows each */
    uint64_t keys[THREADS][BATCH];
    bool torn[THREADS];
};

static bool is_even(const float *row, uint32_t length)
{
    for (uint32_t i = 1; i < length; i++) {
        if (row[i] != row[0]) return false;
    }
    return true;
}

static void nothing(void *context, unsigned lane)
{
    (void)context;
    (void)lane;
}

/* Every push raises all values of a row by one, so a whole row is one whose values are equal. */
static void push_and_pull(void *context, unsigned lane)
{
    struct proof *p = context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        p->layout->work[round % 2 ? PUSH_1 : PUSH_64](p->rows, p->keys[lane], BATCH, p->ones[lane]);
        p->layout->work[round % 4 < 2 ? PULL_1 : PULL_64](p->rows, p->keys[lane], BATCH,
                                                          p->read[lane]);
        for (unsigned i = 0; i < BATCH; i++)
            p->torn[lane] |= !is_even(p->read[lane] + (size_t)i * p->length, p->length);
    }
}

static double sum_of_hot_rows(struct proof *p)
{
    double sum = 0;
    for (unsigned i = 0; i < BATCH; i++) p->keys[0][i] = i % HOT_ROWS;
    p->layout->work[PULL_64](p->rows, p->keys[0], BATCH, p->read[0]);
    for (unsigned i = 0; i < HOT_ROWS; i++) sum += (double)p->read[0][(size_t)i * p->length];
    return sum;
}

static void prepare(struct proof *p)
{
    size_t values = (size_t)BATCH * p->length;
    for (unsigned lane = 0; lane < THREADS; lane++) {
        keys_fill(p->keys[lane], BATCH, KEYS_UNIFORM, HOT_ROWS, lane);
        p->ones[lane] = malloc(values * sizeof(float));
        p->read[lane] = malloc(values * sizeof(float));
        if (p->ones[lane] == NULL || p->read[lane] == NULL) abort();
        for (size_t i = 0; i < values; i++) p->ones[lane][i] = 1;
    }
}

static void conclude(const struct proof *p, double pushes)
{
    const double expected = (double)THREADS * ROUNDS * BATCH;
    if (pushes != expected) {
        fprintf(stderr,
                "layout: %s lost updates: %.0f of %.0f are there, %" PRIu32 " floats a row\n",
                p->layout->name, pushes, expected, p->length);
        exit(1);
    }
    if (p->torn[0] || p->torn[1]) {
        fprintf(stderr, "layout: %s read a torn row of %" PRIu32 " floats\n", p->layout->name,
                p->length);
        exit(1);
    }
}

void prove_layout(const struct layout *l, void *rows, uint32_t length)
{
    struct proof p = {.layout = l, .rows = rows, .length = length};
    prepare(&p);
    double before = sum_of_hot_rows(&p);
    keys_fill(p.keys[0], BATCH, KEYS_UNIFORM, HOT_ROWS, THREADS);
    team_time(THREADS, nothing, push_and_pull, &p);
    conclude(&p, sum_of_hot_rows(&p) - before);
    for (unsigned lane = 0; lane < THREADS; lane++) {
        free(p.ones[lane]);
        free(p.read[lane]);
    }
}
