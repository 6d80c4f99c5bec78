/*
 * cells.h - the values of a matrix as a file gives them, in any order.
 *
 * Memory    16 bytes a value, until they are columns
 * Waiting   never
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
    uint32_t rows, columns;
    double *response;
    size_t response_count, response_capacity;
};

void cells_add(struct cells *, uint32_t row, uint32_t column, double value);
void cells_add_response(struct cells *, double value);
/* Takes the cells over. A cell that is named twice: gives up. `source` is for the sentence. */
void cells_finish(struct cells *, struct columns *, const char *source);

/* Reads a file, and its responses, which `option` names. */
void cells_read(struct cells *, const char *path, const char *response, const char *option);

#endif
