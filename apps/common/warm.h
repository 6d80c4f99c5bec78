/*
 * warm.h - a table's first values, of which a saved model (saved.h) has some: --from. Rows are known
 * by their names, or where there are none by their numbers. Of word vectors alone ("locus prepare
 * vectors") the words are rows of table 0.
 *
 * Callers   every worker of every node, collectively
 * Memory    the model's names, for the call
 * Waiting   for the disk, and for all workers
 */
#ifndef APPS_WARM_H
#define APPS_WARM_H

#include "names.h"
#include "rows.h"

/* A tensor's rows are floats at ... at + count - 1 of the table's. */
struct warm_part {
    const char *tensor, *names;
    size_t at, count;
};

/* As rows_init(), and then what `path` has of rows of these names, unless it is NULL. Where a table
 * has a multiple of the names, they come again. A model with other lengths ends the program; of
 * parts but the first it may have none, and of a table that begins with zeros of no part. */
void warm_init(struct pool_member *, size_t table, const char *path, const struct warm_part *parts,
               size_t part_count, const struct names *, rows_draw *, const void *context);

/* What the model knows by its place must have these names there. `path` NULL: no model. */
void warm_check_names(const char *path, const char *tensor, const struct names *);

#endif
