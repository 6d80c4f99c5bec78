#include "bench.h"

#include <errno.h>

static void array_read(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_read(l->floors, keys, n, l->batch);
}

static void array_add(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_add(l->floors, keys, n, l->batch);
}

static void array_write(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_write(l->floors, keys, n, l->batch);
}

static void array_sum(struct lane *l, const uint64_t *keys, size_t n)
{
    l->digest += (double)floor_sum(l->floors, keys, n);
}

static void mutex_read(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_locked_read(l->floors, keys, n, l->batch);
}

static void mutex_add(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_locked_add(l->floors, keys, n, l->batch);
}

void lane_note(struct lane *l, int rc)
{
    if (rc != 0 && l->rc == 0) l->rc = rc;
}

/* One key a call goes through the same batch buffer, place by place, as 64 keys a call and as the
 * floor. */
static float *place(const struct lane *l, size_t i)
{
    return l->batch + i % BATCH * l->length;
}

static void pull(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += l->per_call)
        lane_note(l, locus_pull(l->worker, keys + i, l->per_call, place(l, i)));
}

static void push(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += l->per_call)
        lane_note(l, locus_push(l->worker, keys + i, l->per_call, place(l, i)));
}

static void set(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += l->per_call)
        lane_note(l, locus_set(l->worker, keys + i, l->per_call, place(l, i)));
}

static float sum_in_place(struct lane *l, locus_key key)
{
    const float *row = locus_view(l->worker, key);
    if (row != NULL) return row_sum(row, l->length);
    lane_note(l, -ENOENT);
    return 0;
}

/* per_call views in one read section. */
static void view_rows(struct lane *l, const uint64_t *keys, size_t n, bool prefetch)
{
    float total = 0;
    for (size_t i = 0; i < n; i += l->per_call) {
        if (prefetch) locus_prefetch(l->worker, keys + i, l->per_call);
        locus_read_begin(l->worker);
        for (size_t j = i; j < i + l->per_call; j++) total += sum_in_place(l, keys[j]);
        locus_read_end(l->worker);
    }
    l->digest += (double)total;
}

static void view(struct lane *l, const uint64_t *keys, size_t n)
{
    view_rows(l, keys, n, false);
}

static void view_fetched(struct lane *l, const uint64_t *keys, size_t n)
{
    view_rows(l, keys, n, true);
}

/* A locus_change: a push, but by the caller's own code. */
static void increase(void *update, float *row, uint32_t length)
{
    row_increase(row, update, length);
}

static void change(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lane_note(l, locus_change_local(l->worker, keys[i], increase, place(l, i)));
}

static void change_fetched(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += l->per_call) {
        locus_prefetch(l->worker, keys + i, l->per_call);
        change(l, keys + i, l->per_call);
    }
}

/* As in training: intent for the next clock, and every 64 keys the clock moves on. Those calls are
 * in the time. */
static void intent(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += l->per_call) {
        if (i % BATCH == 0) locus_advance_clock(l->worker);
        locus_clock next = locus_current_clock(l->worker) + 1;
        lane_note(l, locus_intent(l->worker, keys + i, l->per_call, next, next + 1));
    }
}

const struct step steps[STEPS] = {
    {"array-read", 0, array_read, "array-read", true},
    {"pull", 1, pull, "array-read", true},
    {"pull", 8, pull, "array-read", true},
    {"pull", BATCH, pull, "array-read", true},
    {"mutex-read", 0, mutex_read, "array-read", true},
    {"array-add", 0, array_add, "array-add", true},
    {"push", 1, push, "array-add", true},
    {"push", 8, push, "array-add", true},
    {"push", BATCH, push, "array-add", true},
    {"change", 1, change, "array-add", true},
    {"change-fetched", 8, change_fetched, "array-add", true},
    {"change-fetched", BATCH, change_fetched, "array-add", true},
    {"mutex-add", 0, mutex_add, "array-add", true},
    {"array-sum", 0, array_sum, "array-sum", true},
    {"view", 1, view, "array-sum", true},
    {"view", BATCH, view, "array-sum", false},
    {"view-fetched", 8, view_fetched, "array-sum", true},
    {"view-fetched", BATCH, view_fetched, "array-sum", true},
    {"array-write", 0, array_write, "array-write", false},
    {"set", 1, set, "array-write", false},
    {"set", BATCH, set, "array-write", false},
    {"intent", 1, intent, NULL, false},
    {"intent", BATCH, intent, NULL, false},
};
