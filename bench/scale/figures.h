/*
 * figures.h - what a shard has done: sums, and what a frame adds to them.
 *
 * Memory    the caller's
 * Waiting   never
 */
#ifndef BENCH_SCALE_FIGURES_H
#define BENCH_SCALE_FIGURES_H

#include "platform.h"

void figures_add(struct platform_figures *sum, const struct platform_figures *);
/* A frame's entries, by operation. */
void figures_count(struct platform_figures *, const struct wire_frame *, const void *body);
/* What a frame of so many bytes takes on the wire, packets' headers included. */
double figures_on_wire(const struct model *, size_t bytes);

#endif
