/*
 * top.h - `locus top`: what the nodes of a running job do, a row each, from their metrics
 * (docs/reference/metrics.md).
 *
 * Memory    some KiB a node
 * Waiting   for nodes (scrape.h), and between two looks
 */
#ifndef LOCUS_TOP_TOP_H
#define LOCUS_TOP_TOP_H

/* argv: "top", options, addresses. Returns the exit status. */
int top_main(int argc, char **argv);

#endif
