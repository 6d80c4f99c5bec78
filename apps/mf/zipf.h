/*
 * zipf.h - generates a matrix whose rows and columns are revealed by Zipf's law, as the papers'
 * synthetic data are (NuPS, Section 5.1: exponent 1.1), with known factors in it: a cell is the
 * product of its row's and its column's planted factor, of variance 1, and noise. The same for a
 * seed on all nodes.
 *
 * Callers   main()
 * Memory    16 bytes a cell while it works
 * Waiting   never
 */
#ifndef MF_ZIPF_H
#define MF_ZIPF_H

#include "ratings.h"

struct zipf {
    const char *text; /* "100000x10000x5000000": rows, columns, different cells */
    double exponent;
    uint64_t rank;
    double noise; /* standard deviation */
    uint64_t seed;
};

/* Gives up when it is no such text, or asks for more than half of all cells. */
void zipf_generate(const struct zipf *, struct ratings *);

#endif
