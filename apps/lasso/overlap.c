#include "overlap.h"

#include "fail.h"
#include "room.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void overlap_open(struct overlap *o, const struct lasso *l)
{
    *o = (struct overlap){.lasso = l};
    o->first = take_memory(l->columns.rows, sizeof *o->first);
}

void overlap_close(struct overlap *o)
{
    free(o->kept);
    free(o->first);
    free(o->values);
    free(o->found);
    free(o->product);
    free(o->search);
    *o = (struct overlap){0};
}

/* ---- the columns ---- */

static void grow_places(struct overlap *o)
{
    size_t capacity = o->capacity ? 2 * o->capacity : 64;
    o->kept = resize_memory(o->kept, capacity, sizeof *o->kept, "columns that are compared");
    o->found = resize_memory(o->found, capacity, sizeof *o->found, "columns that are compared");
    o->product =
        resize_memory(o->product, capacity, sizeof *o->product, "columns that are compared");
    o->search = resize_memory(o->search, capacity, sizeof *o->search, "columns that are compared");
    memset(o->search + o->capacity, 0, (capacity - o->capacity) * sizeof *o->search);
    o->capacity = capacity;
}

static void grow_values(struct overlap *o, size_t more)
{
    while (o->value_count + more > o->value_capacity)
        o->value_capacity = o->value_capacity ? 2 * o->value_capacity : 1024;
    o->values =
        resize_memory(o->values, o->value_capacity, sizeof *o->values, "columns that are compared");
}

static void add(struct overlap *o, uint64_t variable)
{
    const struct columns *c = &o->lasso->columns;
    uint64_t column = lasso_column(o->lasso, variable);
    uint64_t first = c->start[column], end = c->start[column + 1];
    if (o->count == o->capacity) grow_places(o);
    if (o->value_count + (end - first) > o->value_capacity) grow_values(o, end - first);
    for (uint64_t i = first; i < end; i++) {
        uint32_t *row = &o->first[c->row[i]];
        o->values[o->value_count++] =
            (struct overlap_value){.place = (uint32_t)o->count, .next = *row, .value = c->value[i]};
        *row = (uint32_t)o->value_count;
    }
    if (o->count == 0 || fabs(c->shift[column]) > fabs(c->shift[o->shifted])) o->shifted = column;
    o->kept[o->count++] = variable;
    o->looks += end - first;
}

static void forget(struct overlap *o)
{
    const struct columns *c = &o->lasso->columns;
    for (size_t k = 0; k < o->count; k++) {
        uint64_t column = lasso_column(o->lasso, o->kept[k]);
        for (uint64_t i = c->start[column]; i < c->start[column + 1]; i++) o->first[c->row[i]] = 0;
    }
    o->looks += o->value_count;
    o->count = o->value_count = 0;
}

void overlap_keep(struct overlap *o, const uint64_t *variables, size_t count)
{
    bool goes_on = count >= o->count;
    if (goes_on && o->count > 0)
        goes_on = memcmp(variables, o->kept, o->count * sizeof *variables) == 0;
    if (!goes_on) forget(o);
    while (o->count < count) add(o, variables[o->count]);
}

/* ---- another one ---- */

void overlap_find(struct overlap *o, uint64_t column)
{
    const struct columns *c = &o->lasso->columns;
    o->found_count = 0;
    o->searches++;
    for (uint64_t i = c->start[column]; i < c->start[column + 1]; i++, o->looks++)
        for (uint32_t at = o->first[c->row[i]]; at > 0; o->looks++) {
            const struct overlap_value *v = &o->values[at - 1];
            if (o->search[v->place] != o->searches) {
                o->search[v->place] = o->searches;
                o->product[v->place] = 0;
                o->found[o->found_count++] = v->place;
            }
            o->product[v->place] += (double)c->value[i] * (double)v->value;
            at = v->next;
        }
}
