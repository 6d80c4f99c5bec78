#include "draft.h"

#include "fail.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

void draft_open(struct draft *d, struct crew_member *m, size_t keys_max, size_t copied_max, size_t length)
{
    *d = (struct draft){.length = length};
    params_open(&d->params, m, keys_max, keys_max * length);
    d->rows = take_memory(keys_max, sizeof *d->rows);
    d->now = take_memory(keys_max, sizeof *d->now);
    d->updates = take_memory(keys_max, sizeof *d->updates);
    if (!draft_is_plain(d)) d->copies = take_memory(copied_max * length, sizeof *d->copies);
}

void draft_close(struct draft *d)
{
    params_close(&d->params);
    free(d->rows);
    free(d->now);
    free(d->updates);
    free(d->copies);
    *d = (struct draft){0};
}

/* What a copy was in the beginning is kept where its update will be. */
static void copy_rows(struct draft *d)
{
    for (size_t i = 0; i < d->copied; i++) {
        d->now[i] = d->copies + i * d->length;
        memcpy(d->updates[i], d->rows[i], d->length * sizeof(float));
        memcpy(d->now[i], d->updates[i], d->length * sizeof(float));
    }
}

void draft_begin(struct draft *d, const locus_key *keys, size_t n, size_t copied)
{
    d->keys = n;
    d->copied = copied;
    params_prefetch(&d->params, keys, n);
    if (draft_is_plain(d)) {
        params_read(&d->params, keys, n, d->rows);
        for (size_t i = 0; i < n; i++) d->now[i] = (float *)(uintptr_t)d->rows[i];
        return;
    }
    /* First: it may wait, and the reading of rows in place forbids that. */
    d->update = params_begin(&d->params);
    params_read(&d->params, keys, n, d->rows);
    memcpy(d->update->keys, keys, n * sizeof *keys);
    for (size_t i = 0; i < n; i++) d->updates[i] = d->update->values + i * d->length;
    copy_rows(d);
}

void draft_end(struct draft *d)
{
    if (draft_is_plain(d)) return;
    params_release(&d->params);
    for (size_t i = 0; i < d->copied; i++) vec_best()->difference(d->updates[i], d->now[i], d->length);
    params_end(&d->params, d->update, d->keys);
}

void draft_flush(struct draft *d)
{
    params_flush(&d->params);
}
