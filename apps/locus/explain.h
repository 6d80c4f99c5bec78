/*
 * explain.h - `locus explain`: why a key is where it is, as the nodes of a running job say
 * (docs/guides/observe.md).
 *
 * Memory    a few KiB a node
 * Waiting   as scrape.h, for each node
 */
#ifndef LOCUS_EXPLAIN_H
#define LOCUS_EXPLAIN_H

/* argv: "explain", options, key, addresses. Returns the exit status. */
int explain_main(int argc, char **argv);

#endif
