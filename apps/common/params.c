#include "params.h"

#include "pace.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t longest_row(const struct pool *pool)
{
    uint32_t longest = 0;
    for (size_t i = 0; i < pool->table_count; i++)
        if (pool->tables[i].length > longest) longest = pool->tables[i].length;
    return longest;
}

void params_open(struct params *p, struct pool_member *member, size_t keys_max, size_t floats_max)
{
    *p = (struct params){.member = member, .keys_max = keys_max, .floats_max = floats_max};
    p->scratch = take_memory(2 * (size_t)longest_row(member->pool), sizeof *p->scratch);
    if (!member->worker) return;
    p->copies = take_memory(floats_max, sizeof *p->copies);
}

void params_close(struct params *p)
{
    params_flush(p);
    for (unsigned i = 0; i < PARAMS_UPDATES_MAX; i++) {
        free(p->updates[i].keys);
        free(p->updates[i].values);
    }
    free(p->copies);
    free(p->scratch);
    *p = (struct params){0};
}

/* ---- the baseline's arrays ---- */

static const struct pool_table *table_of(const struct params *p, locus_key key)
{
    return pool_table_of(p->member->pool, key);
}

static float *row_in(const struct pool_table *t, locus_key key)
{
    return t->values + (key - t->first) * t->stride;
}

static void prefetch_plain(const struct params *p, const locus_key *keys, size_t n)
{
    enum { LINE = 16, LINES_MAX = 16 }; /* floats; the processor goes on by itself */
    for (size_t i = 0; i < n; i++) {
        const struct pool_table *t = table_of(p, keys[i]);
        const float *row = row_in(t, keys[i]);
        for (uint32_t j = 0; j < t->stride && j < LINE * LINES_MAX; j += LINE)
            __builtin_prefetch(row + j, 0, 2);
    }
}

/* ---- reading ---- */

/* locus_prefetch() takes that many. */
enum { PREFETCH_KEYS = 64 };

void params_prefetch(struct params *p, const locus_key *keys, size_t n)
{
    if (params_is_plain(p)) {
        prefetch_plain(p, keys, n);
        return;
    }
    for (size_t i = 0; i < n; i += PREFETCH_KEYS) {
        size_t left = n - i;
        locus_prefetch(p->member->worker, keys + i, left < PREFETCH_KEYS ? left : PREFETCH_KEYS);
    }
}

bool params_view(struct params *p, const locus_key *keys, size_t n, const float **rows)
{
    locus_worker *w = p->member->worker;
    if (params_is_plain(p)) {
        for (size_t i = 0; i < n; i++) rows[i] = row_in(table_of(p, keys[i]), keys[i]);
        return true;
    }
    bool is_here = must(locus_read_rows(w, keys, n, NULL, rows), "reading rows");
    if (is_here && p->is_reading) locus_read_end(w); /* the first one goes on */
    p->is_reading |= is_here;
    return is_here;
}

void params_fetch(struct params *p, const locus_key *keys, size_t n, const float **rows)
{
    params_release(p);
    pace_missed(p->member, keys, n);
    must(locus_pull(p->member->worker, keys, n, p->copies), "pull");
    const float *copy = p->copies;
    for (size_t i = 0; i < n; i++) {
        rows[i] = copy;
        copy += table_of(p, keys[i])->length;
    }
}

void params_read(struct params *p, const locus_key *keys, size_t n, const float **rows)
{
    if (!params_view(p, keys, n, rows)) params_fetch(p, keys, n, rows);
}

void params_release(struct params *p)
{
    if (!p->is_reading) return;
    locus_read_end(p->member->worker);
    p->is_reading = false;
}

/* ---- writing ---- */

/* The first buffer that is free: nearly always the same one, which is in the cache. Else that of
 * the oldest update. */
static struct params_update *choose_buffer(struct params *p)
{
    struct params_update *oldest = &p->updates[0];
    for (struct params_update *u = p->updates; u < p->updates + PARAMS_UPDATES_MAX; u++) {
        if (!u->ticket || locus_done(p->member->worker, u->ticket)) return u;
        if (u->number < oldest->number) oldest = u;
    }
    return oldest;
}

struct params_update *params_begin(struct params *p)
{
    struct params_update *u = choose_buffer(p);
    if (!u->keys) {
        u->keys = take_memory(p->keys_max, sizeof(locus_key));
        u->values = take_memory(p->floats_max, sizeof(float));
    }
    if (u->ticket) must(locus_wait(p->member->worker, u->ticket), "push");
    u->ticket = 0;
    u->number = p->begun++;
    u->count = u->floats = 0;
    return u;
}

float *params_note(struct params_update *u, locus_key key, size_t length)
{
    float *at = u->values + u->floats;
    u->keys[u->count++] = key;
    u->floats += length;
    return at;
}

/* LOCUS_ADAGRAD's step: the same to the bit. */
static void adagrad(float *restrict row, const float *restrict gradient, size_t n, float rate)
{
    float *restrict sums = row + n;
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (size_t i = 0; i < n; i++) {
        sums[i] += gradient[i] * gradient[i];
        row[i] += -rate * gradient[i] / (sqrtf(sums[i]) + 1e-10F);
    }
}

void params_step_plain(struct params *p, locus_key key, const float *row, locus_gradient *gradient,
                       void *context)
{
    const struct pool_table *t = table_of(p, key);
    gradient(context, row, p->scratch, t->length);
    adagrad((float *)(uintptr_t)row, p->scratch, t->length, (float)(t->rate * p->member->rate));
}

void params_step_away(struct params_update *u, locus_key key, const float *row, size_t length,
                      locus_gradient *gradient, void *context)
{
    gradient(context, row, params_note(u, key, length), (uint32_t)length);
}

/* A copy of ours, which later reads of this step see changed; or a row that may not be changed in
 * place just now. That one is read once: others may write to it. */
void params_change_copy(struct params *p, struct params_update *u, locus_key key, const float *row,
                        locus_change *change, void *context, float **noted)
{
    uint32_t length = table_of(p, key)->length;
    float *update = *noted ? p->scratch : params_note(u, key, length),
          *now = (float *)(uintptr_t)row;
    memcpy(update, row, length * sizeof *row);
    if (p->is_reading) now = memcpy(p->scratch + length, update, length * sizeof *row);
    change(context, now, length);
    vec_best()->difference(update, now, length);
    if (*noted)
        vec_best()->add(*noted, update, length);
    else
        *noted = update;
}

static void add_plain(const struct params *p, const struct params_update *u)
{
    const struct vec *v = vec_best();
    const float *update = u->values;
    for (size_t i = 0; i < u->count; i++) {
        const struct pool_table *t = table_of(p, u->keys[i]);
        v->add(row_in(t, u->keys[i]), update, t->length);
        update += t->length;
    }
}

void params_end(struct params *p, struct params_update *u)
{
    if (params_is_plain(p)) {
        add_plain(p, u);
        return;
    }
    must(locus_push_async(p->member->worker, u->keys, u->count, u->values, &u->ticket), "push");
}

void params_flush(struct params *p)
{
    if (!params_is_plain(p)) must(locus_wait_all(p->member->worker), "push");
}
