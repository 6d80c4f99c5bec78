#include "draft.h"

#include "fail.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

void draft_open(struct draft *d, struct pool_member *m, size_t keys_max, size_t copied_max,
                size_t length)
{
    *d = (struct draft){.length = length};
    params_open(&d->params, m, keys_max, keys_max * length);
    d->rows = take_memory(keys_max, sizeof *d->rows);
    d->now = take_memory(keys_max, sizeof *d->now);
    d->updates = take_memory(keys_max, sizeof *d->updates);
    places_init(&d->places, keys_max);
    if (!draft_is_plain(d)) d->copies = take_memory(2 * copied_max * length, sizeof *d->copies);
}

void draft_close(struct draft *d)
{
    params_close(&d->params);
    places_fini(&d->places);
    free(d->rows);
    free(d->now);
    free(d->updates);
    free(d->copies);
    *d = (struct draft){0};
}

/* What a copy was in the beginning stays behind it. */
static float *before(const struct draft *d, size_t place)
{
    return d->now[place] + d->length;
}

static void copy_rows(struct draft *d)
{
    for (size_t i = 0; i < d->copied; i++) {
        d->now[i] = d->copies + 2 * i * d->length;
        memcpy(before(d, i), d->rows[i], d->length * sizeof(float));
        memcpy(d->now[i], before(d, i), d->length * sizeof(float));
    }
}

/* One that is not here will not be the only one: the rest comes with it. Equal keys share a copy,
 * so that the second change begins with the result of the first, as it does in place. */
static void fetch_rest(struct draft *d, size_t place)
{
    const locus_key *keys = d->key + place;
    const float **rows = d->rows + place;
    params_fetch(&d->params, keys, d->keys - place, rows);
    places_clear(&d->places);
    for (uint32_t i = 0; i < d->keys - place; i++)
        rows[i] = rows[places_find(&d->places, keys, i, keys[i])];
    d->fetched = d->keys;
}

void draft_begin(struct draft *d, const locus_key *keys, size_t n, size_t copied)
{
    d->key = keys;
    d->keys = n;
    d->copied = copied;
    draft_prefetch(d, 0, copied);
    /* First: it may wait, and the reading of rows in place forbids that. */
    if (!draft_is_plain(d)) d->update = params_begin(&d->params);
    d->fetched = 0;
    if (!params_view(&d->params, keys, copied, d->rows)) fetch_rest(d, 0);
    if (draft_is_plain(d))
        for (size_t i = 0; i < copied; i++) d->now[i] = (float *)(uintptr_t)d->rows[i];
    else
        copy_rows(d);
}

void draft_extend(struct draft *d, size_t n)
{
    d->keys = n;
}

void draft_prefetch(struct draft *d, size_t place, size_t n)
{
    params_prefetch(&d->params, d->key + place, n);
}

void draft_read(struct draft *d, size_t place, size_t n)
{
    for (size_t i = place; i < place + n; i++) d->updates[i] = NULL;
    if (place + n <= d->fetched || params_view(&d->params, d->key + place, n, d->rows + place))
        return;
    fetch_rest(d, place);
}

void draft_change(struct draft *d, size_t place, locus_change *change, void *context)
{
    params_change(&d->params, d->update, d->key[place], d->rows[place], change, context,
                  &d->updates[place]);
}

/* A locus_change: what has become of a copy. */
static void add_gain(void *now, float *row, uint32_t length)
{
    const float *after = now;
    vec_best()->add_difference(row, after, after + length, length);
}

static void add_copies(struct draft *d)
{
    for (size_t i = 0; i < d->copied; i++) {
        if (params_change_here(&d->params, d->key[i], add_gain, d->now[i])) continue;
        float *update = params_note(d->update, d->key[i], d->length);
        memset(update, 0, d->length * sizeof(float));
        add_gain(d->now[i], update, (uint32_t)d->length);
    }
}

void draft_end(struct draft *d)
{
    if (draft_is_plain(d)) return;
    params_release(&d->params);
    add_copies(d);
    params_end(&d->params, d->update);
}

void draft_flush(struct draft *d)
{
    params_flush(&d->params);
}
