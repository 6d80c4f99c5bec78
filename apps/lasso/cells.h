/*
 * cells.h - the values of a matrix as a LIBSVM file gives them, row by row: `response index:value
 * ...`, indices from 1.
 *
 * Memory    16 bytes a value, until they are columns
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef LASSO_CELLS_H
#define LASSO_CELLS_H

#include "columns.h"

struct cell_value {
    uint32_t row, column;
    double value;
};

struct cells {
    struct cell_value *list;
    size_t count, capacity;
    uint32_t columns;
    double *response; /* of each row */
    size_t rows, rows_capacity;
};

void cells_read(struct cells *, const char *path);
/* Takes the cells over. A cell that is named twice: gives up. `source` is for the sentence. */
void cells_finish(struct cells *, struct columns *, const char *source);
void cells_fini(struct cells *);

#endif
