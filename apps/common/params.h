/*
 * params.h - a worker's rows: reads, changes and steps them in place where this node holds them,
 * fetches the others, and pushes updates or gradients to those without waiting for the network. With
 * the baseline all are read and changed where they are in the arrays.
 *
 * Callers   one worker's thread
 * Memory    a buffer for the largest call, and another for each update that was under way
 *           meanwhile, until params_close()
 * Waiting   params_read() for rows of other nodes; params_begin() when too many updates are under
 *           way
 * Life      open; then rounds of begin, read, compute, release, end; close
 */
#ifndef APPS_PARAMS_H
#define APPS_PARAMS_H

#include "fail.h"
#include "locus.h"
#include "pool.h"

#include <errno.h>

enum { PARAMS_UPDATES_MAX = 16 }; /* under way at once */

struct params_update {
    locus_key *keys;
    float *values; /* the updates, or gradients, of all keys' rows, one after the other */
    size_t count, floats;
    locus_ticket ticket;
    uint64_t number; /* of the update, as they were begun */
};

struct params {
    struct pool_member *member;
    float *copies;  /* of rows that are not all here */
    float *scratch; /* for two rows */
    bool is_reading;
    size_t keys_max, floats_max;
    struct params_update updates[PARAMS_UPDATES_MAX];
    uint64_t begun;
};

/* At most `keys_max` keys and `floats_max` floats of their rows in a call. */
void params_open(struct params *, struct pool_member *, size_t keys_max, size_t floats_max);
void params_close(struct params *);

/* Starts fetching rows toward the processor's cache. A hint. */
void params_prefetch(struct params *, const locus_key *keys, size_t n);

/* Makes rows[i] point to the row of keys[i], until params_release(). Other workers may write to
 * rows meanwhile, so a row may change while it is read, as in any training by several threads
 * without locks. */
void params_read(struct params *, const locus_key *keys, size_t n, const float **rows);
/* The two halves of that. Views accumulate until params_release(); false: a row is not here. Copies
 * replace what was read before. */
bool params_view(struct params *, const locus_key *keys, size_t n, const float **rows);
void params_fetch(struct params *, const locus_key *keys, size_t n, const float **rows);
void params_release(struct params *);

/* Begins an update. It may have to wait for an earlier one, so begin it before reading rows. */
struct params_update *params_begin(struct params *);
/* Room for what is to be pushed to this row of `length` floats. */
float *params_note(struct params_update *, locus_key, size_t length);
/* Changes the copy of a row that was read, and notes the change in the update. *noted: where it is
 * noted, for another change of the same row; NULL at first. */
void params_change_copy(struct params *p, struct params_update *u, locus_key key, const float *row,
                        locus_change *change, void *context, float **noted);
/* Pushes what was noted. */
void params_end(struct params *, struct params_update *);
/* Waits for all updates. */
void params_flush(struct params *);

/* A row of a table with an optimizer takes a step with the gradient that the function writes: in
 * place, with the baseline; noted in the update, so that it is pushed. `row`: as it was read. */
void params_step_plain(struct params *, locus_key, const float *row, locus_gradient *,
                       void *context);
void params_step_away(struct params_update *, locus_key, const float *row, size_t length,
                      locus_gradient *, void *context);

static inline bool params_is_plain(const struct params *p)
{
    return p->member->worker == NULL;
}

/* Changes a row in place, whether it was read or not; false: it is not held here, or cannot be
 * changed now. */
static inline bool params_change_here(struct params *p, locus_key key, locus_change *change,
                                      void *context)
{
    int rc = locus_change_local(p->member->worker, key, change, context);
    return rc == -EAGAIN ? false : must(rc, "changing a row") == 0;
}

/* The same for a step of a row. */
static inline bool params_step_here(struct params *p, locus_key key, locus_gradient *gradient,
                                    void *context)
{
    int rc = locus_step_local(p->member->worker, key, gradient, context);
    return rc == -EAGAIN ? false : must(rc, "stepping a row") == 0;
}

/* A step of a row of `length` values, wherever it is. Of one that is not here later reads of this
 * step see nothing yet. */
static inline void params_step(struct params *p, struct params_update *u, locus_key key,
                               const float *row, size_t length, locus_gradient *gradient,
                               void *context)
{
    if (params_is_plain(p))
        params_step_plain(p, key, row, gradient, context);
    else if (!params_step_here(p, key, gradient, context))
        params_step_away(u, key, row, length, gradient, context);
}

/* Changes a row that was read and not released since: in place if it is held here, otherwise its
 * copy. */
static inline void params_change(struct params *p, struct params_update *u, locus_key key,
                                 const float *row, locus_change *change, void *context,
                                 float **noted)
{
    if (params_is_plain(p)) {
        change(context, (float *)(uintptr_t)row, pool_table_of(p->member->pool, key)->length);
    } else if (!p->is_reading || !params_change_here(p, key, change, context)) {
        params_change_copy(p, u, key, row, change, context, noted);
    }
}

#endif
