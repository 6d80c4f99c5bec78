/*
 * rate.h - the share of the learning rate that steps take: --schedule, and the first steps of many
 * workers at once.
 *
 *     linear,warmup=0.1,to=0.01
 *
 * is: from 0 to the whole rate in the first tenth of the training, then evenly down to a hundredth.
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef APPS_RATE_H
#define APPS_RATE_H

struct rate {
    int shape;         /* constant, linear, cosine */
    double warmup, to; /* shares of the training, and of the rate */
};

/* What cannot be read ends the program. */
void rate_parse(struct rate *, const char *schedule);
/* `progress`: of the training, from 0 to 1. */
double rate_share(const struct rate *, double progress);
/* Each of many workers knows its own gradients only, and AdaGrad's first step is a whole rate,
 * whatever the gradient. So the first steps are shorter, all together no longer than one: from
 * 1 / workers to 1, in as many steps as there are workers. One alone begins with 1. */
double rate_among(double steps, unsigned workers);

#endif
