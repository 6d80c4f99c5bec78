/* Pull, push, set, localize, and waiting for them. */
#include "api/parts.h"
#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <string.h>

static const char *const call_name[] = {
    [REQUEST_PULL] = "locus_pull",           [REQUEST_PULL_STATE] = "locus_pull_state",
    [REQUEST_PUSH] = "locus_push",           [REQUEST_SET] = "locus_set",
    [REQUEST_SET_STATE] = "locus_set_state", [REQUEST_LOCALIZE] = "locus_localize"};
static const char *const array_name[] = {
    [REQUEST_PULL] = "values", [REQUEST_PULL_STATE] = "rows", [REQUEST_PUSH] = "updates",
    [REQUEST_SET] = "values",  [REQUEST_SET_STATE] = "rows",  [REQUEST_LOCALIZE] = "keys"};

static void count_access(locus_worker *w, enum request_kind kind, size_t local, size_t replica,
                         size_t remote)
{
    uint64_t *count = request_pulls(kind) ? w->counters.pulled : w->counters.pushed;
    if (kind == REQUEST_LOCALIZE) return;
    counter_add(&count[COUNT_LOCAL], local);
    if (replica) counter_add(&count[COUNT_REPLICA], replica);
    if (remote) counter_add(&count[COUNT_REMOTE], remote);
}

/* How a call may continue if a row is not here: ask the owner; ask, but keep the values, because
 * the caller does not wait; not at all. */
enum missing { MISSING_ASK, MISSING_KEEP, MISSING_REFUSE };

/* One call for rows. */
struct access {
    locus_worker *w;
    enum request_kind kind;
    const locus_key *keys;
    size_t n;
    float *values; /* NULL: of localize */
    enum missing missing;
    bool is_own;          /* the library's: not counted */
    struct operation *op; /* what was asked of others; NULL: all was here */
};

/* Serves those of the keys that are here; the others are in w->missed (with other nodes only).
 * Keys with operations of ours under way count as missed, wherever their rows are; the runs between
 * them are served. */
static size_t access_here(const struct access *a, const locus_key *keys, size_t n, float *values,
                          size_t *replicas, int *rc)
{
    locus_worker *w = a->w;
    size_t misses = 0, offset = 0;
    if (a->kind == REQUEST_LOCALIZE) {
        for (size_t i = 0; i < n && w->missed; i++) {
            struct row_ref ref = store_row_ref(w->store, keys[i]);
            if (!row_ref_is_held(ref, directory_load(row_ref_word(ref))))
                w->missed[misses++] = (struct missed_row){i, 0};
        }
        return misses;
    }
    if (!operations_hold(&w->operations, keys, n))
        return parts_access(w, a->kind, keys, n, values, w->missed, replicas, rc);
    for (size_t i = 0, run; i < n && *rc == 0; i += run + 1) {
        struct missed_row *missed = w->missed + misses;
        for (run = 0; i + run < n && !operations_hold_key(&w->operations, keys[i + run]);) run++;
        size_t more =
            run > 0 ? parts_access(w, a->kind, keys + i, run, values + offset, missed, replicas, rc)
                    : 0;
        for (size_t m = 0; m < more; m++) {
            missed[m].position += i;
            missed[m].offset += offset;
        }
        misses += more;
        offset += parts_floats(w->store, a->kind, keys + i, run);
        if (i + run == n) break;
        w->missed[misses++] = (struct missed_row){i + run, offset};
        offset += parts_floats(w->store, a->kind, keys + i + run, 1);
    }
    return misses;
}

/* Adds the missed keys of a chunk to the operation, which begins with the first of them. Its values
 * are the caller's, or a copy that lasts until the operation is complete. */
static void ask_for_missed(struct access *a, const locus_key *keys, float *values, size_t misses)
{
    locus_worker *w = a->w;
    if (!a->op) a->op = operation_begin(&w->operations);
    for (size_t i = 0; i < misses; i++) {
        locus_key key = keys[w->missed[i].position];
        unsigned shard = keyspace_shard(&w->store->keyspace, key);
        float *at = values ? values + w->missed[i].offset : NULL;
        if (at && a->missing == MISSING_KEEP) {
            size_t length = parts_floats(w->store, a->kind, &key, 1);
            at = memcpy(operation_keep(a->op, length), at, length * sizeof *at);
        }
        operation_add(&w->operations, a->op, a->kind, shard, key, at);
    }
}

/* Serves what is here and asks for the rest, chunk by chunk. */
static int begin_access(struct access *a)
{
    locus_worker *w = a->w;
    const locus_key *keys = a->keys;
    float *values = a->values;
    int rc = 0;
    for (size_t n = a->n, chunk; n > 0; n -= chunk, keys += chunk) {
        chunk = n < w->chunk || !w->missed ? n : w->chunk;
        size_t replicas = 0, misses = access_here(a, keys, chunk, values, &replicas, &rc);
        if (rc) return call_no_slot(call_name[a->kind]); /* no memory for a first write */
        if (misses > 0 && a->missing == MISSING_REFUSE) return call_in_section(call_name[a->kind]);
        if (!a->is_own) count_access(w, a->kind, chunk - misses - replicas, replicas, misses);
        if (misses) ask_for_missed(a, keys, values, misses);
        if (n > chunk && values) values += parts_floats(w->store, a->kind, keys, chunk);
    }
    return 0;
}

/* Can the call be served without the network, as far as is visible now? Only the owner may set or
 * localize a replica, and a call may have to wait for an earlier operation on the same key: these
 * cannot. */
static bool all_here(const struct access *a)
{
    locus_worker *w = a->w;
    bool needs_owner = request_sets(a->kind) || a->kind == REQUEST_LOCALIZE;
    if (operations_hold(&w->operations, a->keys, a->n)) return false;
    for (size_t i = 0; i < a->n; i++) {
        struct row_ref ref = store_row_ref(w->store, a->keys[i]);
        directory_word word = directory_load(row_ref_word(ref));
        if (!(needs_owner ? row_ref_is_here(ref, word) : row_ref_is_held(ref, word))) return false;
    }
    return true;
}

/* Nothing may wait inside a read section: a row that arrives may have to wait for the end of the
 * section (row.h), and so may any later request. But a row that was here a moment ago may leave
 * before it is accessed. Then a pull is refused, because its values are useless, and so is a call
 * with one key, because it has done nothing. A push or set of several keys was already done for
 * some of them, so the rest follows the rows that left. For this worker it is complete, because its
 * later calls come after it. That needs free requests; without them the call is refused before it
 * has done anything. */
static int check_section(struct access *a)
{
    a->missing = request_writes(a->kind) && a->n > 1 ? MISSING_KEEP : MISSING_REFUSE;
    bool may_leave = a->w->operations.under_way != NULL && a->missing == MISSING_KEEP;
    return all_here(a) && !(may_leave && operations_would_wait(&a->w->operations, a->n))
               ? 0
               : call_in_section(call_name[a->kind]);
}

static bool is_in_section(const locus_worker *w)
{
    return w->reader.depth > 0 && w->node->cluster;
}

static int check_access(const struct access *a)
{
    const char *name = call_name[a->kind];
    if (!call_has_keys(a->n)) return call_no_count(name, a->n);
    return call_check(name, array_name[a->kind], a->w, a->keys, a->n,
                      a->kind == REQUEST_LOCALIZE ? (const void *)a->keys : a->values);
}

/* One step of each table that has an optimizer and one of the keys; each is a range. Of a call that
 * nothing refuses any more; `takes_back`: something has. */
static void count_steps(const locus_worker *w, const locus_key *keys, size_t n, bool takes_back)
{
    const struct keyspace *k = &w->store->keyspace;
    uint64_t begun[(LOCUS_TABLES_MAX + 63) / 64] = {0};
    for (size_t i = 0; i < n && w->store->counts_steps; i++) {
        unsigned range = keyspace_range_of(k, keys[i]);
        struct optimizer *o = w->store->partition[range].optimizer;
        if (!o || begun[range / 64] >> range % 64 & 1) continue;
        begun[range / 64] |= UINT64_C(1) << range % 64;
        if (takes_back)
            optimizer_take_back_step(o);
        else
            optimizer_begin_step(o);
    }
}

/* What it checks was checked. The one key of a call may leave now, or have no slot: then nothing was
 * done. */
static int begin_checked(struct access *a)
{
    if (a->kind == REQUEST_PUSH) count_steps(a->w, a->keys, a->n, false);
    int rc = begin_access(a);
    if (rc && a->n == 1 && a->kind == REQUEST_PUSH) count_steps(a->w, a->keys, 1, true);
    return rc;
}

static int run_access(struct access *a)
{
    struct operations *all = &a->w->operations;
    int rc = begin_checked(a), remote = 0;
    if (!a->op) return rc;
    if (a->missing == MISSING_KEEP)
        operation_submit(all, a->op);
    else
        remote = call_name_loss(a->w, operation_run(all, a->op));
    return rc ? rc : remote;
}

static __attribute__((noinline)) int access_rows(locus_worker *w, enum request_kind kind,
                                                 const locus_key *keys, size_t n, float *values)
{
    struct access a = {.w = w, .kind = kind, .keys = keys, .n = n, .values = values};
    int rc = check_access(&a);
    if (rc || (is_in_section(w) && (rc = check_section(&a)))) return rc;
    return run_access(&a);
}

int call_access(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n,
                float *values)
{
    struct access a = {
        .w = w, .kind = kind, .keys = keys, .n = n, .values = values, .is_own = true};
    int rc = check_access(&a);
    return rc ? rc : run_access(&a);
}

static int access_async(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n,
                        float *values, locus_ticket *ticket)
{
    struct access a = {.w = w, .kind = kind, .keys = keys, .n = n, .values = values};
    if (!ticket) return error_set(-EINVAL, "%s_async: `ticket` is NULL", call_name[kind]);
    *ticket = 0;
    int rc = check_access(&a);
    if (rc) return rc;
    if (is_in_section(w) && operations_would_wait(&w->operations, n) && (rc = check_section(&a)))
        return rc;
    rc = begin_checked(&a);
    if (a.op) *ticket = operation_submit(&w->operations, a.op);
    if (rc && a.op) { /* who hears of an error may free the values at once */
        operations_wait(&w->operations, *ticket);
        *ticket = 0;
    }
    return rc;
}

/* Latency-sensitive callers pass one key a call. There each instruction matters, because the
 * processor overlaps the cache misses of consecutive calls only as far as they fit into its reorder
 * buffer. So the usual case comes first: a row that is here, on a node whose keys are easy to
 * find. */
static inline __attribute__((always_inline)) bool is_one_key(const locus_worker *w,
                                                             const locus_key *keys, size_t n,
                                                             const void *values)
{
    return n == 1 && w && keys && values && keys[0] < call_key_bound(w) &&
           !operations_hold_key(&w->operations, keys[0]);
}

/* Several keys, one with an operation of ours under way, a push whose step must be counted. */
enum { NOT_SO_EASY = -EINPROGRESS };

/* -EAGAIN: the row is not here, or the owner has to do it. Nothing was done then. */
static inline __attribute__((always_inline)) int access_one(const locus_worker *w,
                                                            enum request_kind kind, locus_key key,
                                                            float *values)
{
    struct row_ref s = store_row_ref(w->store, key);
    if (kind == REQUEST_PULL) {
        int done = s.partition->bf16 ? -EAGAIN : row_try_read(s, values, s.partition->length, true);
        return done >= 0 ? done : row_read_slowly(s, values, 0, w->copies);
    }
    if (kind == REQUEST_PUSH && s.partition->optimizer && row_step_own(s, NULL, NULL, values))
        return COUNT_LOCAL;
    if (kind == REQUEST_PUSH && w->store->counts_steps) return NOT_SO_EASY;
    if (!w->only && s.partition->home) row_fetch_to_write(s);
    return row_write_by(s, values, kind == REQUEST_PUSH ? ROW_ADD : ROW_SET, w->copies);
}

/* One key, whose row was not here a moment ago: nobody looks again. */
static int access_elsewhere(locus_worker *w, enum request_kind kind, const locus_key *key,
                            float *values)
{
    struct operations *all = &w->operations;
    if (w->reader.depth > 0) return call_in_section(call_name[kind]);
    counter_add(kind == REQUEST_PULL ? &w->counters.pulled_remote : &w->counters.pushed_remote, 1);
    struct operation *op = operation_begin(all);
    operation_add(all, op, kind, keyspace_shard(&w->store->keyspace, *key), *key, values);
    return call_name_loss(w, operation_run(all, op));
}

/* What is not so easy: of one key the row alone, if it is here all the same. */
static inline __attribute__((always_inline)) int access_any(locus_worker *w, enum request_kind kind,
                                                            const locus_key *keys, size_t n,
                                                            float *values)
{
    if (!w) return n == 0 ? 0 : call_no_worker(call_name[kind]);
    int done = is_one_key(w, keys, n, values) ? access_one(w, kind, keys[0], values) : NOT_SO_EASY;
    if (__builtin_expect(done < 0, 0))
        return done == -EAGAIN && w->missed ? access_elsewhere(w, kind, keys, values)
                                            : access_rows(w, kind, keys, n, values);
    count_access(w, kind, done == COUNT_LOCAL, done == COUNT_REPLICA, 0);
    return 0;
}

static __attribute__((noinline)) int pull_unusual(locus_worker *w, const locus_key *keys, size_t n,
                                                  float *values)
{
    return access_any(w, REQUEST_PULL, keys, n, values);
}

static __attribute__((noinline)) int push_unusual(locus_worker *w, const locus_key *keys, size_t n,
                                                  const float *updates)
{
    return access_any(w, REQUEST_PUSH, keys, n, (float *)(uintptr_t)updates);
}

static __attribute__((noinline)) int set_unusual(locus_worker *w, const locus_key *keys, size_t n,
                                                 const float *values)
{
    return access_any(w, REQUEST_SET, keys, n, (float *)(uintptr_t)values);
}

static inline __attribute__((always_inline)) int pull_usual(locus_worker *w, const locus_key *keys,
                                                            float *values, struct partition *only,
                                                            uint32_t length)
{
    int done = row_try_read((struct row_ref){only, keys[0]}, values, length, true);
    if (__builtin_expect(done < 0, 0)) return pull_unusual(w, keys, 1, values);
    count_read(w, done);
    return 0;
}

static __attribute__((noinline)) int pull_long_row(locus_worker *w, const locus_key *keys,
                                                   float *values, struct partition *only)
{
    return pull_usual(w, keys, values, only, only->length);
}

/* A function that calls no other saves no registers: short rows are copied here. */
int locus_pull(locus_worker *w, const locus_key *keys, size_t n, float *values)
{
    struct partition *only = __builtin_expect(is_one_key(w, keys, n, values), 1) ? w->only : NULL;
    if (__builtin_expect(!only, 0)) return pull_unusual(w, keys, n, values);
    uint32_t length = only->length;
    if (length > FLOATS_FEW) return pull_long_row(w, keys, values, only);
    return pull_usual(w, keys, values, only, length);
}

/* false: nothing was done. */
static inline __attribute__((always_inline)) bool write_usual(locus_worker *w,
                                                              const locus_key *keys, size_t n,
                                                              const float *values,
                                                              enum row_change change)
{
    struct partition *only = __builtin_expect(is_one_key(w, keys, n, values), 1) ? w->only : NULL;
    if (__builtin_expect(!only, 0)) return false;
    struct row_ref s = (struct row_ref){only, keys[0]};
    if (s.partition->home) row_fetch_to_write(s);
    int done = row_write_own(s, values, change);
    if (__builtin_expect(done < 0, 0)) return false;
    counter_add(&w->counters.pushed[done], 1);
    return true;
}

int locus_push(locus_worker *w, const locus_key *keys, size_t n, const float *updates)
{
    return write_usual(w, keys, n, updates, ROW_ADD) ? 0 : push_unusual(w, keys, n, updates);
}

int locus_set(locus_worker *w, const locus_key *keys, size_t n, const float *values)
{
    return write_usual(w, keys, n, values, ROW_SET) ? 0 : set_unusual(w, keys, n, values);
}

int locus_pull_state(locus_worker *w, const locus_key *keys, size_t n, float *rows)
{
    return access_rows(w, REQUEST_PULL_STATE, keys, n, rows);
}

int locus_set_state(locus_worker *w, const locus_key *keys, size_t n, const float *rows)
{
    return access_rows(w, REQUEST_SET_STATE, keys, n, (float *)(uintptr_t)rows);
}

int locus_pull_async(locus_worker *w, const locus_key *keys, size_t n, float *values,
                     locus_ticket *ticket)
{
    return access_async(w, REQUEST_PULL, keys, n, values, ticket);
}

int locus_push_async(locus_worker *w, const locus_key *keys, size_t n, const float *updates,
                     locus_ticket *ticket)
{
    return access_async(w, REQUEST_PUSH, keys, n, (float *)(uintptr_t)updates, ticket);
}

int locus_set_async(locus_worker *w, const locus_key *keys, size_t n, const float *values,
                    locus_ticket *ticket)
{
    return access_async(w, REQUEST_SET, keys, n, (float *)(uintptr_t)values, ticket);
}

int locus_wait(locus_worker *w, locus_ticket ticket)
{
    int rc = call_check_worker("locus_wait", w);
    if (rc == 0) rc = operations_check(&w->operations, "locus_wait", ticket);
    if (rc) return rc;
    if (w->reader.depth > 0 && !operations_done(&w->operations, ticket))
        return call_in_section("locus_wait");
    return call_name_loss(w, operations_wait(&w->operations, ticket));
}

int locus_wait_all(locus_worker *w)
{
    int rc = call_check_worker("locus_wait_all", w);
    if (rc) return rc;
    if (w->reader.depth > 0 && !operations_all_done(&w->operations))
        return call_in_section("locus_wait_all");
    return call_name_loss(w, operations_wait_all(&w->operations));
}

bool locus_done(locus_worker *w, locus_ticket ticket)
{
    if (call_check_worker("locus_done", w)) return true;
    return operations_check(&w->operations, "locus_done", ticket) == 0 &&
           operations_done(&w->operations, ticket);
}

int locus_pull_local(locus_worker *w, locus_key key, float *value)
{
    int rc = call_check("locus_pull_local", "value", w, &key, 1, value);
    if (rc) return rc;
    bool must_not = operations_hold(&w->operations, &key, 1);
    rc = must_not ? -EAGAIN : row_read_any(store_row_ref(w->store, key), value, w->copies);
    if (rc < 0)
        return error_set(
            rc,
            "the row of key %llu is not held by this node, or an operation of this worker's on it may be under way",
            (unsigned long long)key);
    counter_add(&w->counters.pulled[rc], 1);
    return 0;
}

/* Does localize move anything here? */
static bool localizes(const locus_worker *w)
{
    return w->node->cluster && w->node->plan.technique->localizes;
}

int locus_localize(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!call_has_keys(n)) return call_no_count("locus_localize", n);
    if (w && localizes(w)) return access_rows(w, REQUEST_LOCALIZE, keys, n, NULL);
    return call_check("locus_localize", "keys", w, keys, n, keys);
}

int locus_localize_async(locus_worker *w, const locus_key *keys, size_t n, locus_ticket *ticket)
{
    if (!ticket) return error_set(-EINVAL, "locus_localize_async: `ticket` is NULL");
    *ticket = 0;
    if (n > 0 && w && localizes(w)) return access_async(w, REQUEST_LOCALIZE, keys, n, NULL, ticket);
    return locus_localize(w, keys, n);
}
