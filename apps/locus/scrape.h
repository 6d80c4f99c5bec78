/*
 * scrape.h - reads the metrics of a node (docs/metrics.md) over HTTP.
 *
 * Callers   look.c, explain.c
 * Memory    the caller frees the text, of at most SCRAPE_BYTES_MAX
 * Waiting   SCRAPE_TIMEOUT_S for each step
 * Life      none
 */
#ifndef LOCUS_TOP_SCRAPE_H
#define LOCUS_TOP_SCRAPE_H

enum {
    SCRAPE_BYTES_MAX = 8 << 20,
    SCRAPE_TIMEOUT_S = 4,
    SCRAPE_ADDRESS_MAX = 300,
    SCRAPE_PATH_MAX = 1024
};

/* "host:port" and `more` on the port. NULL: nobody answers there, or not with metrics. */
char *scrape_read(const char *address, unsigned more);
/* What stands at a path of it, without the header; *status is HTTP's. NULL: nobody answers. */
char *scrape_path(const char *address, unsigned more, const char *path, unsigned *status);

/* A sample of a metric, with its labels as they stand between the braces. */
struct scrape_sample {
    char labels[96];
    double value;
};
/* The next sample of that name behind `at`, which moves on to it; NULL: there is none. */
const char *scrape_next(const char *at, const char *name, struct scrape_sample *);

/* The sum over all samples whose line begins so: "locus_sent_bytes_total" for all peers, or with
 * labels. */
double scrape_sum(const char *text, const char *begin);
/* The largest of them; 0: there is none. */
double scrape_max(const char *text, const char *begin);

#endif
