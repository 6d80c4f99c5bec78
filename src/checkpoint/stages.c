#include "checkpoint/stages.h"

#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_KEYS = 1 << 16, PULL_KEYS = 1024, HOME_ROWS_BYTES = 1 << 18 };

static uint64_t first_index(const struct keyspace *k, const struct slice *s)
{
    return keyspace_count_below(k, k->table[s->table].first, s->shard);
}

static uint64_t end_index(const struct keyspace *k, const struct slice *s)
{
    return keyspace_count_below(k, k->table[s->table].end, s->shard);
}

bool home_rows_deal(const struct store *store, struct slice *last, struct slice *next)
{
    const struct keyspace *k = &store->keyspace;
    if (last->table >= k->tables) return false;
    *next = (struct slice){.table = last->table, .shard = last->shard, .from = last->end};
    if (next->from < first_index(k, next)) next->from = first_index(k, next);
    while (next->from >= end_index(k, next)) {
        next->shard = (next->shard + 1) % k->shards;
        next->table += next->shard == 0;
        last->table = next->table;
        if (next->table >= k->tables) return false;
        next->from = first_index(k, next);
    }
    uint64_t left = end_index(k, next) - next->from;
    next->end = next->from + (left < SLICE_KEYS ? left : SLICE_KEYS);
    *last = *next;
    return true;
}

/* ---- rows ---- */

struct walk {
    locus_worker *worker;
    const struct keyspace_table *of;
    unsigned table;
    home_rows_visit *visit;
    void *context;
    float *values; /* of one row, or of those that are pulled */
    size_t count, capacity;
    locus_key key[PULL_KEYS]; /* to pull */
};

static bool is_zero(const float *values, uint32_t length)
{
    const uint32_t *bits = (const void *)values;
    uint32_t i = 0;
    while (i < length && bits[i] == 0) i++;
    return i == length;
}

static int show(struct walk *walk, locus_key key, const float *values)
{
    if (is_zero(values, walk->of->stored)) return 0;
    return walk->visit(walk->context, walk->table, key - walk->of->first, values);
}

static int pull(struct walk *walk)
{
    size_t count = walk->count;
    int rc = count ? call_access(walk->worker, REQUEST_PULL_STATE, walk->key, count, walk->values)
                   : 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = show(walk, walk->key[i], walk->values + i * walk->of->stored);
    walk->count = 0;
    return rc;
}

static int pull_later(struct walk *walk, locus_key key)
{
    walk->key[walk->count++] = key;
    return walk->count == walk->capacity ? pull(walk) : 0;
}

static int see(struct walk *walk, struct row_ref ref, locus_key key)
{
    /* Its place among those to pull is still free. */
    float *values = walk->values + walk->count * walk->of->stored;
    directory_word w = directory_load(row_ref_word(ref));
    enum directory_state state = directory_state(w);
    if (state == DIRECTORY_ELSEWHERE) return pull_later(walk, key);
    if (!row_word_is_written(ref, w)) return 0;
    if (row_read_as(ref, values, ROW_WITH_STATE) < 0)
        return pull_later(walk, key); /* it has just left */
    return show(walk, key, values);
}

static int walk_slice(struct walk *walk, const struct slice *s)
{
    struct store *store = walk->worker->store;
    const struct keyspace *k = &store->keyspace;
    int rc = 0;
    for (uint64_t index = s->from; index < s->end && rc == 0; index++) {
        locus_key key = keyspace_key(k, s->shard, index);
        struct row_ref ref = store_row_ref(store, key);
        if (row_ref_is_home(ref)) rc = see(walk, ref, key);
    }
    return rc ? rc : pull(walk);
}

int home_rows_each(locus_worker *w, const struct slice *s, home_rows_visit *visit, void *context)
{
    const struct keyspace_table *table = &w->store->keyspace.table[s->table];
    size_t row_bytes = table->stored * sizeof(float), capacity = HOME_ROWS_BYTES / row_bytes;
    if (capacity > PULL_KEYS) capacity = PULL_KEYS;
    if (capacity == 0) capacity = 1;
    struct walk *walk = malloc(sizeof *walk);
    float *values = malloc(capacity * row_bytes);
    int rc = -ENOMEM;
    if (walk && values) {
        walk->worker = w;
        walk->of = table;
        walk->table = s->table;
        walk->visit = visit;
        walk->context = context;
        walk->values = values;
        walk->count = 0;
        walk->capacity = capacity;
        rc = walk_slice(walk, s);
    } else {
        error_set(rc, "no memory to look at rows with");
    }
    free(values);
    free(walk);
    return rc;
}

/* ---- stages ---- */

int stages_meet(struct stages *s, enum collective_kind kind, int rc)
{
    locus *n = s->worker->node;
    s->word.rc = rc;
    /* What all were told before is said as it was. */
    const char *why = locus_error();
    if (rc && strncmp(why, s->call, strlen(s->call)) == 0)
        snprintf(s->word.text, sizeof s->word.text, "%s", why);
    else if (rc)
        snprintf(s->word.text, sizeof s->word.text, "%s: node %d: %s", s->call, n->rank, why);
    rc = call_name_loss(s->worker, collective_agree(&n->collective, s->worker->id, kind, &s->word));
    if (rc) snprintf(s->word.text, sizeof s->word.text, "%s", locus_error());
    return rc;
}

int stages_begin(struct stages *s, const char *call, locus_worker *w, const char *directory,
                 enum collective_kind kind)
{
    *s = (struct stages){.worker = w, .call = call, .directory = directory};
    int rc = call_check_worker(call, w);
    if (rc) return rc;
    if (w->reader.depth > 0) return call_in_section(call);
    if (!directory || !*directory)
        return error_set(-EINVAL, "%s: the directory is %s", call, directory ? "empty" : "NULL");
    s->repaired = call_repaired(w);
    rc = stages_meet(s, kind, call_flush_updates(w));
    if (rc) return stages_end(s, rc);
    s->is_first = collective_is_first(&w->node->collective, w->id);
    return 0;
}

/* The first worker makes it before the others look for it. */
static int find_work(locus *n)
{
    if (n->work) {
        stages_renew_work(n->work);
        return 0;
    }
    n->work = calloc(1, sizeof *n->work);
    if (!n->work) return error_set(-ENOMEM, "no memory for a checkpoint");
    pthread_mutex_init(&n->work->mutex, NULL);
    return 0;
}

int stages_flush(struct stages *s, int rc)
{
    locus_worker *w = s->worker;
    if (rc == 0) rc = call_flush(w, REQUEST_FLUSH_REPLICAS);
    if (rc == 0) rc = call_repeats(w, s->repaired);
    if (rc == 0 && s->is_first) rc = find_work(w->node);
    rc = stages_meet(s, COLLECTIVE_STAGE, rc);
    if (rc == 0) s->work = w->node->work;
    return rc;
}

int stages_end(const struct stages *s, int rc)
{
    return rc ? error_set(rc, "%s", s->word.text) : 0;
}

bool stages_is_rank_0(const struct stages *s)
{
    return s->worker->node->rank == 0 && s->is_first;
}

bool stages_deal(struct stages *s, struct slice *slice)
{
    pthread_mutex_lock(&s->work->mutex);
    bool is_dealt = home_rows_deal(s->worker->store, &s->work->dealt, slice);
    pthread_mutex_unlock(&s->work->mutex);
    return is_dealt;
}

void stages_renew_work(struct checkpoint_work *w)
{
    w->dealt = (struct slice){.table = 0};
    w->next_file = 0;
    manifest_fini(&w->manifest);
}

void stages_free_work(struct checkpoint_work *w)
{
    if (!w) return;
    stages_renew_work(w);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}
