/*
 * draft.h - the rows of one training step, of one length each. Rows that the step uses again and
 * again are copied, trained in the copy, one example after the other, and what has become of them
 * is added at the end: one read and one update of each. Rows that it uses once are read and trained
 * in place. With the baseline all are.
 *
 *     draft_begin(&d, keys, n, copied);     the first `copied` keys are those to be copied
 *     draft_extend(&d, n);                  so many keys are known by now, where they are not from
 *                                           the start
 *     draft_read(&d, i, count);             the others some at a time, draft_prefetch() a moment
 *                                           before
 *     ...d.now[i] of the copied; d.rows[i] and draft_change(&d, i, ...) of what was read last...
 *     draft_end(&d);
 *
 * Where rows are fetched, a key that comes again among those fetched together has the same copy;
 * known only later, it begins with what the owner has.
 *
 * Callers   one worker's thread
 * Memory    for the largest step, twice
 * Waiting   draft_begin() and draft_read() for rows of other nodes, and for earlier updates when
 *           too many are under way
 * Life      open; any number of begin and end; flush where updates must be complete; close
 */
#ifndef APPS_DRAFT_H
#define APPS_DRAFT_H

#include "params.h"
#include "places.h"

struct draft {
    struct params params;
    struct places places; /* finds keys that come again in what is fetched */
    size_t length;        /* of a row */
    size_t keys, copied;
    size_t fetched; /* rows before this place are read, or were, but for those that are copied */
    const float **rows;
    float **now;
    float **updates; /* of those that are not copied and have some */
    float *copies;
    const locus_key *key;
    struct params_update *update;
};

void draft_open(struct draft *, struct pool_member *, size_t keys_max, size_t copied_max,
                size_t length);
void draft_begin(struct draft *, const locus_key *keys, size_t n, size_t copied);
void draft_extend(struct draft *, size_t n);
void draft_prefetch(struct draft *, size_t place, size_t n);
void draft_read(struct draft *, size_t place, size_t n);
void draft_change(struct draft *, size_t place, locus_change *, void *context);
void draft_end(struct draft *);
void draft_flush(struct draft *);
void draft_close(struct draft *);

static inline bool draft_is_plain(const struct draft *d)
{
    return params_is_plain(&d->params);
}

#endif
