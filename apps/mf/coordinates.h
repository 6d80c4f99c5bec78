/*
 * coordinates.h - factors by coordinate descent (STRADS, Section 3.2; Yu et al., 2012): sweeps that
 * never raise the sum of squared errors plus --reg times the squared norm of all factors.
 *
 * A sweep has two phases. In the first, each row's factor is changed by the worker that has the
 * row, one coordinate after the other, each to what is best while the others stay; the columns'
 * factors stay. Then all quiesce, and it is the columns' turn. A factor has one writer, and what it
 * depends on stays: the result is that of one worker, whatever the cluster.
 *
 * Callers   every worker of every node, collectively
 * Memory    12 bytes a cell of the worker's rows and of its columns, and the longest row or column
 * Waiting   for rows of other nodes, and for all workers after each phase
 * Life      open, sweeps, close
 */
#ifndef MF_COORDINATES_H
#define MF_COORDINATES_H

#include "mf.h"
#include "params.h"

/* What a worker has of one phase: its rows, or its columns. */
struct coordinates_phase {
    uint32_t first, end;   /* of the matrix */
    size_t *start;         /* of each one's cells; one more at the end */
    uint32_t *other;       /* of each cell: its column, or its row */
    float *value;          /* less the mean */
    locus_key own, others; /* the first keys of both */
};

struct coordinates {
    const struct mf *mf;
    struct pool_member *member;
    struct coordinates_phase phases[2]; /* rows, columns */
    struct params params;
    locus_key *keys;
    const float **rows;
    float *errors, *factor;
};

void coordinates_open(struct coordinates *, const struct mf *, struct pool_member *);
void coordinates_close(struct coordinates *);
/* After it: this worker's part of the squared errors, and of the squared norms. */
void coordinates_sweep(struct coordinates *, double *squares, double *norms);

#endif
