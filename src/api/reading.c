/* Rows in place: changes, read sections, views. */
#include "base/error.h"
#include "worker/call.h"
#include "locus.h"

#include <errno.h>

static bool has_optimizer(const locus_worker *w, locus_key key)
{
    const struct optimizer *o = store_row_ref(w->store, key).partition->optimizer;
    return o && o->rule.rate > 0;
}

/* Why a row cannot be changed in place. `missing`: the argument that is NULL, or NULL. */
static __attribute__((noinline, cold)) int no_change(const char *call, locus_worker *w,
                                                     locus_key key, const char *missing, int rc)
{
    if (!w) return call_no_worker(call);
    if (missing) return error_set(-EINVAL, "%s: `%s` is NULL", call, missing);
    if (!call_in_range(w, &key, 1)) return call_no_such_key(call, w, &key, 1);
    if (rc == -ENOMEM) return call_no_slot(call);
    if (rc == -EINVAL)
        return error_set(rc, "%s: the table of key %llu has %s: call %s", call,
                         (unsigned long long)key,
                         has_optimizer(w, key) ? "an optimizer" : "no optimizer",
                         has_optimizer(w, key) ? "locus_step_local" : "locus_change_local");
    return error_set(
        rc,
        "the row of key %llu is not held by this node, or an operation of this worker's on it may be under way",
        (unsigned long long)key);
}

/* May the row be changed in place, if it is here? */
static inline __attribute__((always_inline)) bool is_free(locus_worker *w, locus_key key)
{
    return w && key < call_key_bound(w) &&
           !(operations_hold_key(&w->operations, key) && operations_hold(&w->operations, &key, 1));
}

static __attribute__((noinline)) int step_unusual(locus_worker *w, locus_key key,
                                                  locus_gradient *gradient, void *context)
{
    int done = -EAGAIN;
    if (__builtin_expect(gradient && is_free(w, key), 1)) {
        struct row_ref s = store_row_ref(w->store, key);
        if (s.partition->optimizer && row_step_own(s, gradient, context, w->scratch))
            done = COUNT_LOCAL;
        else
            done = has_optimizer(w, key)
                       ? row_step_in_place(s, gradient, context, w->scratch, w->copies)
                       : -EINVAL;
    }
    if (__builtin_expect(done < 0, 0))
        return no_change("locus_step_local", w, key, gradient ? NULL : "gradient", done);
    counter_add(&w->counters.pushed[done], 1);
    return 0;
}

/* As locus_change_local(). */
int locus_step_local(locus_worker *w, locus_key key, locus_gradient *gradient, void *context)
{
    if (__builtin_expect(!w || !gradient || key >= call_key_bound(w), 0))
        return step_unusual(w, key, gradient, context);
    struct partition *p = store_block_partition(w->store, key);
    if (__builtin_expect(!p || partition_plain(p) != PLAIN_STEPS, 0))
        return step_unusual(w, key, gradient, context);
    row_step_at(p, row_ref_array_row((struct row_ref){p, key}), gradient, context, w->scratch);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

static __attribute__((noinline)) int change_unusual(locus_worker *w, locus_key key,
                                                    locus_change *change, void *context)
{
    const struct row_edit edit = {
        .change = change, .context = context, .scratch = w ? w->scratch : NULL};
    int done = -EAGAIN;
    if (__builtin_expect(change && is_free(w, key), 1)) {
        struct row_ref s = store_row_ref(w->store, key);
        done = row_edit_own(s, &edit);
        if (__builtin_expect(done < 0, 0))
            done = has_optimizer(w, key) ? -EINVAL : row_edit(s, &edit, w->copies);
    }
    if (__builtin_expect(done < 0, 0))
        return no_change("locus_change_local", w, key, change ? NULL : "change", done);
    counter_add(&w->counters.pushed[done], 1);
    return 0;
}

/* Optimizers call this for every row that they change. So the cheapest case comes first, without a
 * struct in memory: in a plain partition nothing is ever under way. */
int locus_change_local(locus_worker *w, locus_key key, locus_change *change, void *context)
{
    struct partition *only = w ? w->only : NULL;
    bool is_plain = only && change && key < call_key_bound(w) && partition_plain(only) & PLAIN_SUMS;
    if (__builtin_expect(!is_plain, 0)) return change_unusual(w, key, change, context);
    row_edit_at(row_ref_array_row((struct row_ref){only, key}), only->length, change, context,
                w->scratch);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

/* More would push each other out of the cache. */
enum { PREFETCH_KEYS_MAX = 64 };

void locus_prefetch(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!w || !keys) return;
    if (n > PREFETCH_KEYS_MAX) n = PREFETCH_KEYS_MAX;
    if (!call_in_range(w, keys, n)) return;
    rows_fetch(w->store, keys, n);
    if (w->store->home.nodes > 1) rows_fetch_found(w->store, keys, n);
}

void locus_read_begin(locus_worker *w)
{
    if (call_check_worker("locus_read_begin", w) == 0) reader_begin(&w->reader);
}

static inline __attribute__((always_inline)) const float *view_at(locus_worker *w, struct row_ref s)
{
    int replica;
    const float *row = row_view(w->store, s, w->copies, &replica);
    if (row) count_read(w, replica);
    return row;
}

/* The rows of its table are never shown in place. */
static bool has_no_floats(const locus_worker *w, locus_key key)
{
    return w->store->has_bf16 && key < call_key_bound(w) &&
           store_row_ref(w->store, key).partition->bf16;
}

/* An operation of the worker that is under way may not be in the row yet: a set of a replica, which
 * goes through the owner, or an update that passed the replica on its way. */
static __attribute__((noinline)) const float *view_unusual(locus_worker *w, locus_key key)
{
    if (has_no_floats(w, key)) {
        error_set(-EINVAL,
                  "locus_view: the table of key %llu has element LOCUS_BF16, and no floats in "
                  "memory: call locus_pull_local",
                  (unsigned long long)key);
        return NULL;
    }
    if (w->operations.keys_under_way > 0 && operations_hold(&w->operations, &key, 1)) return NULL;
    return view_at(w, store_row_ref(w->store, key));
}

/* In a read section. */
static inline __attribute__((always_inline)) const float *view(locus_worker *w, locus_key key)
{
    if (key >= call_key_bound(w)) return NULL;
    struct partition *only = w->only;
    if (!only) {
        const struct partition *p = store_block_partition(w->store, key);
        if (!p || !partition_plain(p)) return view_unusual(w, key);
        count_read(w, false); /* in a plain partition nothing is ever under way */
        return partition_row(p, key - p->first_number);
    }
    if (__builtin_expect(w->operations.keys_under_way > 0, 0)) return view_unusual(w, key);
    return view_at(w, (struct row_ref){only, key});
}

/* A mistake of the program; that a row is not here is none, and has no sentence. */
static __attribute__((noinline, cold)) const float *no_view(const locus_worker *w, locus_key key)
{
    if (!w)
        call_no_worker("locus_view");
    else if (!call_in_range(w, &key, 1))
        call_no_such_key("locus_view", w, &key, 1);
    else if (w->reader.depth == 0)
        error_set(-EINVAL, "locus_view: no read section is open: call locus_read_begin first");
    return NULL;
}

const float *locus_view(locus_worker *w, locus_key key)
{
    const float *row = w && w->reader.depth > 0 ? view(w, key) : NULL;
    return __builtin_expect(row != NULL, 1) ? row : no_view(w, key);
}

void locus_read_end(locus_worker *w)
{
    if (w && w->reader.depth > 0) reader_end(&w->reader);
}

/* Reading in place is a race by intention, which ThreadSanitizer is right to report: copies
 * there. */
#if defined(LOCUS_TSAN)
enum { IN_PLACE = 0 };
#else
enum { IN_PLACE = 1 };
#endif

static bool view_all(locus_worker *w, const locus_key *keys, size_t n, const float **rows)
{
    for (size_t i = 0; i < n; i++) {
        rows[i] = view(w, keys[i]);
        if (__builtin_expect(!rows[i], 0)) return false;
    }
    return true;
}

static int read_copies(locus_worker *w, const locus_key *keys, size_t n, float *copies,
                       const float **rows)
{
    static const char call[] = "locus_read_rows";
    int rc = call_check_worker(call, w);
    if (rc || n == 0) return rc;
    rc = call_has_keys(n) ? call_check(call, "rows", w, keys, n, rows) : call_no_count(call, n);
    /* without keys or rows rc says so: an analyzer sees it here */
    if (rc || !copies || !keys || !rows) return rc;
    const struct keyspace *k = &w->store->keyspace;
    rc = locus_pull(w, keys, n, copies);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rows[i] = copies;
        copies += k->table[keyspace_table_of(k, keys[i])].length;
    }
    return rc;
}

/* Inside a section nothing may be fetched, and what was seen in it ends with it. So when one row is
 * missing all are copied: beside a trip over the network that is nothing. */
int locus_read_rows(locus_worker *w, const locus_key *keys, size_t n, float *copies,
                    const float **rows)
{
    if (IN_PLACE && w && keys && rows && n > 0 && !has_no_floats(w, keys[0])) {
        const struct worker_counters before = w->counters;
        locus_read_begin(w);
        if (view_all(w, keys, n, rows)) return 1;
        locus_read_end(w);
        for (int i = 0; i < COUNT_PLACES; i++) /* those seen are not read */
            __atomic_store_n(&w->counters.pulled[i], before.pulled[i], __ATOMIC_RELAXED);
    }
    return read_copies(w, keys, n, copies, rows);
}
