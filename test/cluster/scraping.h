/*
 * scraping.h - a client of a node's metrics, for tests.
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   for the node, HANG_S between two bytes at most
 * Life      none
 */
#ifndef LOCUS_TEST_SCRAPING_H
#define LOCUS_TEST_SCRAPING_H

#include <stddef.h>

enum { PAGE_MAX = 1 << 18 };

/* The first of so many ports side by side that nobody has. Nodes that are opened from now on serve
 * there (LOCUS_METRICS). */
unsigned scraping_ports(unsigned count);
/* A connection to the port on loopback. */
int scraping_dial(unsigned port);
/* What comes until its end; returns how many bytes. */
size_t scraping_read(int fd, char *page, size_t capacity);
/* A request, and what is answered. */
void scraping_say(unsigned port, const char *request, char page[PAGE_MAX]);
/* /metrics, which must be answered well. */
void scraping_get(unsigned port, char page[PAGE_MAX]);

/* The sample that is called so, "locus_rounds_total" or "name{label=\"x\"}"; -1: there is none. */
double scraping_sample(const char *page, const char *name);
/* The sum of all whose lines begin so. */
double scraping_sum(const char *page, const char *begin);

#endif
