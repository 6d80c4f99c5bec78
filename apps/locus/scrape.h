/*
 * scrape.h - reads the metrics of a node (docs/reference/metrics.md) over HTTP.
 *
 * Memory    the caller frees the text, of at most SCRAPE_BYTES_MAX
 * Waiting   SCRAPE_TIMEOUT_S for each step
 * Life      none
 */
#ifndef LOCUS_TOP_SCRAPE_H
#define LOCUS_TOP_SCRAPE_H

#include <stdbool.h>

enum {
    SCRAPE_BYTES_MAX = 8 << 20,
    SCRAPE_TIMEOUT_S = 4,
    SCRAPE_ADDRESS_MAX = 300,
    SCRAPE_NAME_MAX = SCRAPE_ADDRESS_MAX + 16,
    SCRAPE_PATH_MAX = 1024,
    SCRAPE_WHY_MAX = 512
};

struct scrape_answer {
    char *text;               /* without the header; NULL: there is none */
    unsigned status;          /* HTTP's; 0: nobody answers, or not in HTTP */
    char why[SCRAPE_WHY_MAX]; /* there is no text, as a sentence that names the place */
};

/* "host:port" and `more` on the port: its metrics. False: there are none, and why. */
bool scrape_read(const char *address, unsigned more, struct scrape_answer *);
/* The same for another path of it. */
bool scrape_path(const char *address, unsigned more, const char *path, struct scrape_answer *);
/* "host:port", with the port that is asked. */
void scrape_name(const char *address, unsigned more, char name[SCRAPE_NAME_MAX]);

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
