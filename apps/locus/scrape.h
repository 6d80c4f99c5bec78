/*
 * scrape.h - reads the metrics of a node (docs/metrics.md) over HTTP.
 *
 * Callers   top.c
 * Memory    the caller frees the text, of at most SCRAPE_BYTES_MAX
 * Waiting   SCRAPE_PATIENCE_S for each step
 * Life      none
 */
#ifndef LOCUS_TOP_SCRAPE_H
#define LOCUS_TOP_SCRAPE_H

enum { SCRAPE_BYTES_MAX = 8 << 20, SCRAPE_PATIENCE_S = 2, SCRAPE_ADDRESS_MAX = 300 };

/* "host:port" and `more` on the port. NULL: nobody answers there, or not with metrics. */
char *scrape_read(const char *address, unsigned more);

/* The sum over all samples whose line begins so: "locus_sent_bytes_total" for all peers, or with
 * labels. */
double scrape_sum(const char *text, const char *begin);
/* The largest of them; 0: there is none. */
double scrape_max(const char *text, const char *begin);

#endif
