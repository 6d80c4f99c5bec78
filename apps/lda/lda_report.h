/*
 * lda_report.h - what lda says on stdout: lines for people, or with --json one JSON object a line.
 *
 * Callers   the first worker of rank 0, and main()
 * Memory    none
 * Waiting   for stdout
 */
#ifndef LDA_LDA_REPORT_H
#define LDA_LDA_REPORT_H

#include "likeliest.h"
#include "quality.h"

struct lda_epoch {
    double tokens, seconds, error; /* error: the s-error */
};

void lda_report_start(const struct lda *, const struct pool *);
void lda_report_epoch(const struct lda *, uint64_t number, const struct lda_epoch *);
void lda_report_quality(const struct lda *, const struct quality *);
void lda_report_topics(const struct lda *, const struct likeliest *);

#endif
