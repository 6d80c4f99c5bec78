#include "ratings.h"

#include "digest.h"
#include "fail.h"
#include "ratings_read.h"
#include "rng.h"
#include "saving.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ratings_init(struct ratings *r)
{
    *r = (struct ratings){0};
    names_init(&r->row_names);
    names_init(&r->column_names);
}

void ratings_fini(struct ratings *r)
{
    names_fini(&r->row_names);
    names_fini(&r->column_names);
    free(r->list);
    free(r->has_cells[0]);
    free(r->has_cells[1]);
    *r = (struct ratings){0};
}

struct rating *ratings_capacity(struct ratings *r, size_t more)
{
    size_t count = r->train + r->test;
    if (r->capacity - count < more) {
        r->capacity += r->capacity / 2 > more ? r->capacity / 2 : more + 1024;
        r->list = resize_memory(r->list, r->capacity, sizeof *r->list, "ratings");
    }
    return r->list + count;
}

void ratings_add(struct ratings *r, struct rating cell)
{
    *ratings_capacity(r, 1) = cell;
    r->train++;
}

/* ---- together ---- */

/* From 0 to 1, by a cell's place in the file alone. */
static double chance(uint64_t seed, size_t i)
{
    return (double)(rng_mix(rng_mix(seed) + i) >> 11) * 0x1p-53;
}

/* Both kinds keep their order. */
static void hold_back(struct ratings *r, double share, uint64_t seed)
{
    size_t total = r->train, kept = 0, held = 0;
    struct rating *test = take_memory(total, sizeof *test);
    for (size_t i = 0; i < total; i++) {
        if (chance(seed, i) < share) {
            test[held++] = r->list[i];
        } else {
            r->list[kept++] = r->list[i];
        }
    }
    if (held > 0) memcpy(r->list + kept, test, held * sizeof *test);
    free(test);
    r->train = kept;
    r->test = held;
}

static void set_mean(struct ratings *r)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < r->train; i++) sum += (double)r->list[i].value;
    r->mean = sum / (double)r->train;
    for (size_t i = 0; i < r->train; i++) {
        double above = (double)r->list[i].value - r->mean;
        squares += above * above;
    }
    r->deviation = sqrt(squares / (double)r->train);
}

void ratings_finish(struct ratings *r, double held_back, uint64_t seed)
{
    if (r->test == 0 && held_back > 0) hold_back(r, held_back, seed);
    if (r->train == 0) fail("there is no rating left to train with: hold back fewer");
    set_mean(r);
    if (r->rows < r->row_names.count) r->rows = r->row_names.count;
    if (r->columns < r->column_names.count) r->columns = r->column_names.count;
    r->has_cells[0] = take_memory(r->rows, 1);
    r->has_cells[1] = take_memory(r->columns, 1);
    for (size_t i = 0; i < r->train; i++)
        r->has_cells[0][r->list[i].row] = r->has_cells[1][r->list[i].column] = true;
}

/* A row that has nearly all columns gets fewer. */
void ratings_add_absent(struct ratings *r, uint64_t times, uint64_t seed)
{
    enum { TRIES = 16, STREAM = 3 };
    size_t known = r->train, most = known * times;
    uint64_t *cells = take_memory(known, sizeof *cells);
    (void)ratings_capacity(r, most);
    struct rating *list = r->list, *to = list + known, *end = to + most;
    struct rng rng;
    rng_init(&rng, seed, STREAM);
    for (size_t i = 0; i < known; i++) cells[i] = (uint64_t)list[i].row << 32 | list[i].column;
    qsort(cells, known, sizeof *cells, ratings_compare);
    if (r->test > 0) memmove(end, to, r->test * sizeof *to);
    for (size_t i = 0; i < most; i++) {
        uint32_t row = list[i / times].row;
        for (int tries = 0; tries < TRIES; tries++) {
            uint64_t column = rng_below(&rng, r->columns), cell = (uint64_t)row << 32 | column;
            if (bsearch(&cell, cells, known, sizeof cell, ratings_compare)) continue;
            *to++ = (struct rating){row, (uint32_t)column, 0};
            break;
        }
    }
    r->train = (size_t)(to - list);
    if (r->test > 0) memmove(to, end, r->test * sizeof *to);
    free(cells);
    set_mean(r);
}

static bool is_same(const struct rating *a, const struct rating *b)
{
    return a->row == b->row && a->column == b->column && a->value == b->value;
}

/* What no cell to train with has says nothing of a cell to test with. */
static void count_unknown(struct ratings *r, const char *test)
{
    size_t same = 0;
    for (size_t i = r->train; i < r->train + r->test; i++) {
        const struct rating *x = &r->list[i];
        r->unknown += !r->has_cells[0][x->row] || !r->has_cells[1][x->column];
        same += r->test == r->train && is_same(x, x - r->train);
    }
    if (r->unknown == r->test)
        fail("%s has no cell whose row and column are those of cells to train with: are its names "
             "others, or its columns in another order?",
             test);
    r->is_tested_again = same == r->test;
}

void ratings_load(struct ratings *r, const char *train, const char *test, double held_back,
                  uint64_t seed, unsigned threads)
{
    ratings_read(r, train, &r->train, threads);
    if (test) ratings_read(r, test, &r->test, threads);
    ratings_finish(r, held_back, seed);
    if (test) count_unknown(r, test);
}

static void write_cells(const struct ratings *r, const char *folder, const char *name, size_t first,
                        size_t end)
{
    struct saving s;
    saving_open_in(&s, folder, name);
    for (const struct rating *x = r->list + first; x < r->list + end; x++)
        if (!ratings_is_absent(r, x))
            fprintf(s.file, "%s\t%s\t%.9g\n", names_get(&r->row_names, x->row),
                    names_get(&r->column_names, x->column), (double)x->value);
    saving_close(&s);
}

void ratings_write(const struct ratings *r, const char *folder)
{
    write_cells(r, folder, "train.txt", 0, r->train);
    write_cells(r, folder, "test.txt", r->train, r->train + r->test);
}

uint64_t ratings_digest(const struct ratings *r, size_t first, size_t end)
{
    uint32_t shape[] = {r->rows, r->columns};
    uint64_t digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    uint32_t rows = 0, columns = 0; /* those to train with come first */
    for (size_t i = first; i < end; i++) {
        const struct rating *x = &r->list[i];
        uint32_t bits;
        if (x->row >= rows) rows = x->row + 1;
        if (x->column >= columns) columns = x->column + 1;
        memcpy(&bits, &x->value, sizeof bits);
        digest = rng_mix(digest ^ ((uint64_t)x->row << 32 | x->column)) + bits;
    }
    digest = names_digest(&r->row_names, rows, digest);
    return names_digest(&r->column_names, columns, digest);
}

/* ---- numbers of cells ---- */

int ratings_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t *ratings_of_row(uint64_t *list, size_t count, uint64_t row)
{
    size_t at = 0, end = count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (list[middle] >> 32 < row)
            at = middle + 1;
        else
            end = middle;
    }
    return list + at;
}
