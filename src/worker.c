#include "base/error.h"
#include "node.h"
#include "signaling.h"

#include <errno.h>
#include <stdlib.h>

static int no_worker(const char *call)
{
    return error_set(-EINVAL, "%s: the worker is NULL", call);
}

static __attribute__((noinline, cold)) int no_array(const char *call, const char *name, size_t n)
{
    return error_set(-EINVAL, "%s: `%s` is NULL for %zu keys", call, name, n);
}

static __attribute__((noinline, cold)) int bad_key(const char *call, const locus *node, const locus_key *keys, size_t n)
{
    uint64_t bound = node->store.keyspace.keys;
    size_t i = 0;
    while (i < n - 1 && keys[i] < bound) i++;
    return error_set(-EINVAL, "%s: key %llu (position %zu) is out of range: valid keys are 0 to %llu", call,
                     (unsigned long long)keys[i], i, (unsigned long long)bound - 1);
}

static __attribute__((noinline, cold)) int no_slot(const char *call)
{
    return error_set(-ENOMEM, "%s: no memory for a row: a read section has been open while too many rows left", call);
}

static __attribute__((noinline, cold)) int no_such_key(const char *call, const locus_worker *w, const locus_key *keys,
                                                       size_t n)
{
    /* No key is in range once a node was lost: so the fast path needs no look at that. */
    int rc = w->node->cluster ? cluster_loss(w->node->cluster) : 0;
    return rc ? rc : bad_key(call, w->node, keys, n);
}

static int in_section(const char *call)
{
    return error_set(-EDEADLK, "%s: would wait inside a read section: call locus_read_end() first", call);
}

static inline uint64_t key_bound(const locus_worker *w)
{
    return __atomic_load_n(&w->bound, __ATOMIC_RELAXED);
}

static inline bool in_range(const locus_worker *w, const locus_key *keys, size_t n)
{
    uint64_t bound = key_bound(w);
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok &= keys[i] < bound;
    return ok;
}

/* 0, or why this call cannot be. n is not 0. */
static inline int check_access(const char *call, const char *name, locus_worker *w, const locus_key *keys, size_t n,
                               const void *values)
{
    if (!w) return no_worker(call);
    if (!keys) return no_array(call, "keys", n);
    if (!values) return no_array(call, name, n);
    return in_range(w, keys, n) ? 0 : no_such_key(call, w, keys, n);
}

/* A branch: the processor foresees it, and need not wait for the row's word to know which counter. */
static inline void count_read(locus_worker *w, int replica)
{
    if (__builtin_expect(replica, 0))
        counter_add(&w->counters.pulled[COUNT_REPLICA], 1);
    else
        counter_add(&w->counters.pulled[COUNT_LOCAL], 1);
}

static const char *const call_name[] = {[REQUEST_PULL] = "locus_pull",
                                        [REQUEST_PUSH] = "locus_push",
                                        [REQUEST_SET] = "locus_set",
                                        [REQUEST_LOCALIZE] = "locus_localize"};
static const char *const array_name[] = {
    [REQUEST_PULL] = "values", [REQUEST_PUSH] = "updates", [REQUEST_SET] = "values", [REQUEST_LOCALIZE] = "keys"};

static void count_access(locus_worker *w, enum request_kind kind, size_t local, size_t replica, size_t remote)
{
    struct worker_counters *c = &w->counters;
    if (kind == REQUEST_LOCALIZE) return;
    counter_add(kind == REQUEST_PULL ? &c->pulled[COUNT_LOCAL] : &c->pushed[COUNT_LOCAL], local);
    if (replica) counter_add(kind == REQUEST_PULL ? &c->pulled[COUNT_REPLICA] : &c->pushed[COUNT_REPLICA], replica);
    if (remote) counter_add(kind == REQUEST_PULL ? &c->pulled[COUNT_REMOTE] : &c->pushed[COUNT_REMOTE], remote);
}

static size_t count_floats(const struct store *s, const locus_key *keys, size_t n)
{
    const struct keyspace *k = &s->keyspace;
    if (k->ranges == 1) return n * k->range[0].length;
    size_t floats = 0;
    for (size_t i = 0; i < n; i++) floats += k->range[keyspace_range_of(k, keys[i])].length;
    return floats;
}

/* Those that are elsewhere. */
static size_t miss_absent(locus_worker *w, const locus_key *keys, size_t n)
{
    size_t misses = 0;
    if (!w->missed) return 0; /* without other nodes */
    for (size_t i = 0; i < n; i++) {
        struct spot spot = store_spot(w->store, keys[i]);
        if (!spot_is_held(spot, directory_load(spot_word(spot)))) w->missed[misses++] = (struct missed_row){i, 0};
    }
    return misses;
}

static size_t access_run(const locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n, float *values,
                         struct missed_row *missed, size_t *replicas, int *rc)
{
    if (kind == REQUEST_PULL) return rows_read(w->store, keys, n, values, missed, replicas);
    return rows_write(w->store, keys, n, values, kind == REQUEST_PUSH ? ROW_ADD : ROW_SET, missed, replicas, rc);
}

/* Keys of which something of ours is under way are missed, wherever their rows are; the runs between them are served. */
static size_t access_around_held(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n,
                                 float *values, size_t *replicas, int *rc)
{
    size_t misses = 0, offset = 0;
    for (size_t i = 0; i < n && *rc == 0;) {
        size_t run = 0;
        while (i + run < n && !operations_hold_key(&w->operations, keys[i + run])) run++;
        struct missed_row *missed = w->missed + misses;
        size_t more = run > 0 ? access_run(w, kind, keys + i, run, values + offset, missed, replicas, rc) : 0;
        for (size_t m = 0; m < more; m++) {
            missed[m].position += i;
            missed[m].offset += offset;
        }
        misses += more;
        offset += count_floats(w->store, keys + i, run);
        i += run;
        if (i == n) break;
        w->missed[misses++] = (struct missed_row){i, offset};
        offset += count_floats(w->store, keys + i, 1);
        i++;
    }
    return misses;
}

/* Serves the keys that are here; the others are in w->missed (with other nodes only). */
static size_t access_here(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n, float *values,
                          size_t *replicas, int *rc)
{
    if (kind == REQUEST_LOCALIZE) return miss_absent(w, keys, n);
    if (operations_hold(&w->operations, keys, n)) return access_around_held(w, kind, keys, n, values, replicas, rc);
    return access_run(w, kind, keys, n, values, w->missed, replicas, rc);
}

/* Adds the missed keys of a chunk to the operation, which begins with the first of them. */
static void ask_for_missed(locus_worker *w, enum request_kind kind, const locus_key *keys, float *values, size_t misses,
                           struct operation **op)
{
    if (!*op) *op = operation_begin(&w->operations);
    for (size_t i = 0; i < misses; i++) {
        locus_key key = keys[w->missed[i].position];
        unsigned shard = keyspace_shard(&w->store->keyspace, key);
        operation_add(&w->operations, *op, kind, shard, key, values ? values + w->missed[i].offset : NULL);
    }
}

/* Serves what is here and asks for the rest, chunk by chunk. *op: the operation, NULL when all was here. */
static int begin_access(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n, float *values,
                        struct operation **op)
{
    int rc = 0;
    *op = NULL;
    while (n > 0) {
        size_t chunk = n < CALL_CHUNK || !w->missed ? n : CALL_CHUNK;
        size_t replicas = 0, misses = access_here(w, kind, keys, chunk, values, &replicas, &rc);
        if (rc) break; /* no memory for a first write */
        count_access(w, kind, chunk - misses - replicas, replicas, misses);
        if (misses) ask_for_missed(w, kind, keys, values, misses, op);
        n -= chunk;
        if (n > 0 && values) values += count_floats(w->store, keys, chunk);
        keys += chunk;
    }
    return rc ? no_slot(call_name[kind]) : 0;
}

/* Would the call be served without the network, as far as one can see now? Not what the owner alone may do: a set and a
 * localize of a replica; nor what has to wait for an earlier operation on the same key. */
static bool all_here(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n)
{
    bool needs_owner = kind == REQUEST_SET || kind == REQUEST_LOCALIZE;
    if (operations_hold(&w->operations, keys, n)) return false;
    for (size_t i = 0; i < n; i++) {
        struct spot spot = store_spot(w->store, keys[i]);
        directory_word word = directory_load(spot_word(spot));
        if (!(needs_owner ? spot_is_here(spot, word) : spot_is_held(spot, word))) return false;
    }
    return true;
}

/* A result that may mean that a node was lost: then the sentence says which. */
static int name_loss(const locus_worker *w, int rc)
{
    int loss = rc == -ECONNRESET && w->node->cluster ? cluster_loss(w->node->cluster) : 0;
    return loss ? loss : rc;
}

static int finish(locus_worker *w, locus_ticket ticket)
{
    return name_loss(w, operations_wait(&w->operations, ticket));
}

static __attribute__((noinline)) int access_rows(locus_worker *w, enum request_kind kind, const locus_key *keys,
                                                 size_t n, float *values)
{
    struct operation *op;
    if (n == 0) return 0;
    int rc = check_access(call_name[kind], array_name[kind], w, keys, n,
                          kind == REQUEST_LOCALIZE ? (const void *)keys : values);
    if (rc) return rc;
    if (w->reader.depth > 0 && w->node->cluster && !all_here(w, kind, keys, n)) return in_section(call_name[kind]);
    rc = begin_access(w, kind, keys, n, values, &op);
    if (!op) return rc;
    int remote = finish(w, operation_submit(&w->operations, op));
    return rc ? rc : remote;
}

static int access_async(locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n, float *values,
                        locus_ticket *ticket)
{
    struct operation *op;
    if (!ticket) return error_set(-EINVAL, "%s_async: `ticket` is NULL", call_name[kind]);
    *ticket = 0;
    if (n == 0) return 0;
    int rc = check_access(call_name[kind], array_name[kind], w, keys, n,
                          kind == REQUEST_LOCALIZE ? (const void *)keys : values);
    if (rc) return rc;
    if (w->reader.depth > 0 && w->node->cluster && operations_would_wait(&w->operations, n) &&
        !all_here(w, kind, keys, n))
        return in_section(call_name[kind]);
    rc = begin_access(w, kind, keys, n, values, &op);
    if (op) *ticket = operation_submit(&w->operations, op);
    if (rc && op) { /* who hears of an error may free the values at once */
        finish(w, *ticket);
        *ticket = 0;
    }
    return rc;
}

/* One key a call is what latency-sensitive callers do, and there each instruction counts: the processor overlaps the
 * misses of consecutive calls only as far as they fit into its window. So what is usual comes first, alone: a row that is
 * here, on a node whose keys are easy to find. */
static inline __attribute__((always_inline)) bool is_one_key(const locus_worker *w, const locus_key *keys, size_t n,
                                                             const void *values)
{
    return n == 1 && w && keys && values && keys[0] < key_bound(w) && w->operations.keys_under_way == 0;
}

static inline __attribute__((always_inline)) bool is_usual(const locus_worker *w, const locus_key *keys, size_t n,
                                                           const void *values)
{
    return __builtin_expect(is_one_key(w, keys, n, values) && w->only, 1);
}

static int access_one(const locus_worker *w, enum request_kind kind, locus_key key, float *values)
{
    struct spot s = store_spot(w->store, key);
    if (kind == REQUEST_PULL) return row_read_alone(s, values);
    if (!w->only && s.part->home) row_fetch_to_write(s);
    return row_write(s, values, kind == REQUEST_PUSH ? ROW_ADD : ROW_SET);
}

static __attribute__((noinline)) int access_unusual(locus_worker *w, enum request_kind kind, const locus_key *keys,
                                                    size_t n, float *values)
{
    int done = is_one_key(w, keys, n, values) ? access_one(w, kind, keys[0], values) : -EAGAIN;
    if (done < 0) return access_rows(w, kind, keys, n, values);
    count_access(w, kind, done == COUNT_LOCAL, done == COUNT_REPLICA, 0);
    return 0;
}

static inline __attribute__((always_inline)) int pull_usual(locus_worker *w, const locus_key *keys, float *values,
                                                            uint32_t length)
{
    int done = row_try_read(part_spot(w->only, keys[0]), values, length, true);
    if (__builtin_expect(done < 0, 0)) return access_unusual(w, REQUEST_PULL, keys, 1, values);
    count_read(w, done);
    return 0;
}

static __attribute__((noinline)) int pull_long_row(locus_worker *w, const locus_key *keys, float *values)
{
    return pull_usual(w, keys, values, w->only->length);
}

/* What calls nothing has nothing to save: short rows are copied here. */
int locus_pull(locus_worker *w, const locus_key *keys, size_t n, float *values)
{
    if (!is_usual(w, keys, n, values)) return access_unusual(w, REQUEST_PULL, keys, n, values);
    uint32_t length = w->only->length;
    if (length > FLOATS_FEW) return pull_long_row(w, keys, values);
    return pull_usual(w, keys, values, length);
}

/* false: nothing was done. */
static inline __attribute__((always_inline)) bool write_usual(const locus_worker *w, const locus_key *keys, size_t n,
                                                              const float *values, enum row_change change)
{
    if (!is_usual(w, keys, n, values)) return false;
    struct spot s = part_spot(w->only, keys[0]);
    if (s.part->home) row_fetch_to_write(s);
    return row_write_own(s, values, change);
}

int locus_push(locus_worker *w, const locus_key *keys, size_t n, const float *updates)
{
    if (!write_usual(w, keys, n, updates, ROW_ADD))
        return access_unusual(w, REQUEST_PUSH, keys, n, (float *)(uintptr_t)updates);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

int locus_set(locus_worker *w, const locus_key *keys, size_t n, const float *values)
{
    if (!write_usual(w, keys, n, values, ROW_SET))
        return access_unusual(w, REQUEST_SET, keys, n, (float *)(uintptr_t)values);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

int locus_pull_async(locus_worker *w, const locus_key *keys, size_t n, float *values, locus_ticket *ticket)
{
    return access_async(w, REQUEST_PULL, keys, n, values, ticket);
}

int locus_push_async(locus_worker *w, const locus_key *keys, size_t n, const float *updates, locus_ticket *ticket)
{
    return access_async(w, REQUEST_PUSH, keys, n, (float *)(uintptr_t)updates, ticket);
}

int locus_set_async(locus_worker *w, const locus_key *keys, size_t n, const float *values, locus_ticket *ticket)
{
    return access_async(w, REQUEST_SET, keys, n, (float *)(uintptr_t)values, ticket);
}

int locus_wait(locus_worker *w, locus_ticket ticket)
{
    if (!w) return no_worker("locus_wait");
    if (w->reader.depth > 0 && !operations_done(&w->operations, ticket)) return in_section("locus_wait");
    return finish(w, ticket);
}

int locus_wait_all(locus_worker *w)
{
    if (!w) return no_worker("locus_wait_all");
    if (w->reader.depth > 0 && !operations_all_done(&w->operations)) return in_section("locus_wait_all");
    return name_loss(w, operations_wait_all(&w->operations));
}

bool locus_done(locus_worker *w, locus_ticket ticket)
{
    return !w || operations_done(&w->operations, ticket);
}

int locus_pull_local(locus_worker *w, locus_key key, float *value)
{
    int rc = check_access("locus_pull_local", "value", w, &key, 1, value);
    if (rc) return rc;
    rc = operations_hold(&w->operations, &key, 1) ? -EAGAIN : row_read(store_spot(w->store, key), value);
    if (rc < 0)
        return error_set(
            rc, "the row of key %llu is not held by this node, or an operation of this worker's on it may be under way",
            (unsigned long long)key);
    counter_add(&w->counters.pulled[rc], 1);
    return 0;
}

static __attribute__((noinline, cold)) int no_change(locus_worker *w, locus_key key, locus_change *change, int rc)
{
    if (!w) return no_worker("locus_change_local");
    if (!change) return error_set(-EINVAL, "locus_change_local: `change` is NULL");
    if (!in_range(w, &key, 1)) return no_such_key("locus_change_local", w, &key, 1);
    if (rc == -ENOMEM) return no_slot("locus_change_local");
    return error_set(
        rc, "the row of key %llu is not held by this node, or an operation of this worker's on it may be under way",
        (unsigned long long)key);
}

static __attribute__((noinline)) int change_slowly(locus_worker *w, locus_key key, const struct row_edit *edit)
{
    int done = -EAGAIN;
    if (w && edit->change && key < key_bound(w) && !operations_hold(&w->operations, &key, 1))
        done = row_edit(store_spot(w->store, key), edit);
    if (done < 0) return no_change(w, key, edit->change, done);
    counter_add(&w->counters.pushed[done], 1);
    return 0;
}

static __attribute__((noinline)) int change_unusual(locus_worker *w, locus_key key, locus_change *change, void *context)
{
    const struct row_edit edit = {.change = change, .context = context, .room = w ? w->room : NULL};
    bool is_easy = w && w->only && change && key < key_bound(w) && w->operations.keys_under_way == 0;
    if (__builtin_expect(!is_easy || !row_edit_own(part_spot(w->only, key), &edit), 0))
        return change_slowly(w, key, &edit);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

/* Optimizers come here with every row that they change: what costs least otherwise comes first, without a struct in
 * memory. Of a plain part nothing is ever under way. */
int locus_change_local(locus_worker *w, locus_key key, locus_change *change, void *context)
{
    bool is_plain = w && w->only && change && key < key_bound(w) && part_is_plain(w->only);
    if (__builtin_expect(!is_plain, 0)) return change_unusual(w, key, change, context);
    row_edit_at(spot_array_row(part_spot(w->only, key)), w->only->length, change, context, w->room);
    counter_add(&w->counters.pushed[COUNT_LOCAL], 1);
    return 0;
}

/* More would push each other out of the cache. */
enum { PREFETCH_KEYS_MAX = 64 };

void locus_prefetch(locus_worker *w, const locus_key *keys, size_t n)
{
    if (!w || !keys) return;
    if (n > PREFETCH_KEYS_MAX) n = PREFETCH_KEYS_MAX;
    if (!in_range(w, keys, n)) return;
    rows_fetch(w->store, keys, n);
    if (w->store->home.nodes > 1) rows_fetch_found(w->store, keys, n);
}

void locus_read_begin(locus_worker *w)
{
    if (w) reader_begin(&w->reader);
}

static inline __attribute__((always_inline)) const float *view_at(locus_worker *w, struct spot s)
{
    int replica;
    const float *row = row_view(w->store, s, &replica);
    if (row) count_read(w, replica);
    return row;
}

static __attribute__((noinline)) const float *view_among_parts(locus_worker *w, locus_key key)
{
    return view_at(w, store_spot(w->store, key));
}

const float *locus_view(locus_worker *w, locus_key key)
{
    if (!w || w->reader.depth == 0 || key >= key_bound(w)) return NULL;
    return w->only ? view_at(w, part_spot(w->only, key)) : view_among_parts(w, key);
}

void locus_read_end(locus_worker *w)
{
    if (w && w->reader.depth > 0) reader_end(&w->reader);
}

/* Where no shard heeds intents. Room that other workers' intents have, though they have started, is looked for last. */
static int wait_for_start(locus_worker *w, size_t n, locus_clock start)
{
    const locus *node = w->node;
    int rc = waiting_add(&w->waiting, &w->clock, start, n);
    for (unsigned i = 0; i < node->workers && rc == -ENOBUFS && node->workers > 1; i++) {
        waiting_give_up(&node->worker[i].waiting, &node->worker[i].clock, n);
        rc = waiting_add(&w->waiting, &w->clock, start, n);
    }
    return rc;
}

/* `streams`: the worker's or the loader's. */
static int signal_intent(const char *call, locus_worker *w, struct intent_stream **streams, const locus_key *keys,
                         size_t n, locus_clock start, locus_clock end, int access)
{
    if (n == 0) return 0;
    if (!w) return no_worker(call);
    if (end <= start)
        return error_set(-EINVAL, "%s: the intent ends at clock %lld, not after its start at %lld", call,
                         (long long)end, (long long)start);
    if (access < LOCUS_READ || access > LOCUS_READ_WRITE)
        return error_set(-EINVAL, "%s: access is %d: must be LOCUS_READ, LOCUS_WRITE or LOCUS_READ_WRITE", call,
                         access);
    if (!keys) return no_array(call, "keys", n);
    if (!in_range(w, keys, n)) return no_such_key(call, w, keys, n);
    if (streams) return signaling_intent(w, streams, keys, n, start, end);
    return wait_for_start(w, n, start);
}

int locus_intent(locus_worker *w, const locus_key *keys, size_t n, locus_clock start, locus_clock end, int access)
{
    return signal_intent("locus_intent", w, w ? w->stream : NULL, keys, n, start, end, access);
}

locus_clock locus_advance_clock(locus_worker *w)
{
    if (!w) return 0;
    locus_clock now = w->clock + 1;
    if (w->stream)
        __atomic_exchange_n(&w->clock, now, __ATOMIC_SEQ_CST); /* signaling.h says why */
    else
        __atomic_store_n(&w->clock, now, __ATOMIC_RELAXED);
    signaling_advance(w, now);
    return now;
}

locus_clock locus_current_clock(const locus_worker *w)
{
    return w ? __atomic_load_n(&w->clock, __ATOMIC_RELAXED) : 0;
}

/* Does localize move anything here? */
static bool localizes(const locus_worker *w)
{
    return w->node->cluster && (w->node->technique == LOCUS_RELOCATE || w->node->technique == LOCUS_ADAPTIVE);
}

int locus_localize(locus_worker *w, const locus_key *keys, size_t n)
{
    if (n > 0 && w && localizes(w)) return access_rows(w, REQUEST_LOCALIZE, keys, n, NULL);
    return n == 0 ? 0 : check_access("locus_localize", "keys", w, keys, n, keys);
}

int locus_localize_async(locus_worker *w, const locus_key *keys, size_t n, locus_ticket *ticket)
{
    if (!ticket) return error_set(-EINVAL, "locus_localize_async: `ticket` is NULL");
    *ticket = 0;
    if (n > 0 && w && localizes(w)) return access_async(w, REQUEST_LOCALIZE, keys, n, NULL, ticket);
    return locus_localize(w, keys, n);
}

/* Waits for what quiesce needs of this node's shards. */
static int settle(locus_worker *w, enum request_kind kind)
{
    return name_loss(w, operations_settle(&w->operations, kind));
}

/* Returns when rank 0 counts the node as present: a meeting that begins later does not go on without it. */
static int open_place(locus *n)
{
    int rc = n->cluster ? cluster_loss(n->cluster) : 0;
    if (rc) return rc;
    pthread_mutex_lock(&n->presence);
    bool was_absent = collective_all_closed(&n->collective);
    int id = collective_open(&n->collective);
    if (id < 0) error_set(id, "all %u workers of this node are open: raise `workers` in its configuration", n->workers);
    if (n->cluster && was_absent && id >= 0) rc = cluster_absent(n->cluster, false);
    if (rc) collective_close(&n->collective, id);
    pthread_mutex_unlock(&n->presence);
    return rc ? rc : id;
}

static void close_place(locus *n, int id)
{
    pthread_mutex_lock(&n->presence);
    collective_close(&n->collective, id);
    if (n->cluster && collective_all_closed(&n->collective)) cluster_absent(n->cluster, true);
    pthread_mutex_unlock(&n->presence);
}

int locus_worker_open(locus *node, locus_worker **out)
{
    if (!out) return error_set(-EINVAL, "locus_worker_open: `out` is NULL");
    *out = NULL;
    if (!node) return error_set(-EINVAL, "locus_worker_open: the node is NULL");
    int id = open_place(node);
    if (id < 0) return id;
    locus_worker *w = &node->worker[id];
    __atomic_store_n(&w->clock, 0, __ATOMIC_RELAXED);
    int rc = signaling_open(w, &w->stream);
    if (rc)
        close_place(node, id);
    else
        *out = w;
    return rc;
}

int locus_worker_close(locus_worker *w)
{
    if (!w) return 0;
    if (w->reader.depth > 0) return in_section("locus_worker_close");
    unsigned loaders = __atomic_load_n(&w->loaders, __ATOMIC_ACQUIRE);
    if (loaders) return error_set(-EBUSY, "%u loaders of worker %d are still open: close them first", loaders, w->id);
    waiting_fini(&w->waiting);
    signaling_close(w, &w->stream, true);
    int rc = locus_wait_all(w);
    /* Nobody quiesces for us any more. */
    if (rc == 0 && w->node->replicates) rc = settle(w, REQUEST_SETTLE_UPDATES);
    samples_close(&w->samples);
    close_place(w->node, w->id);
    return rc;
}

int locus_worker_id(const locus_worker *w)
{
    return w ? w->id : no_worker("locus_worker_id");
}

int locus_loader_open(locus_worker *w, locus_loader **out)
{
    if (!out) return error_set(-EINVAL, "locus_loader_open: `out` is NULL");
    *out = NULL;
    if (!w) return no_worker("locus_loader_open");
    locus_loader *l = malloc(sizeof *l);
    if (!l) return error_set(-ENOMEM, "no memory for a loader");
    l->worker = w;
    int rc = signaling_open(w, &l->stream);
    if (rc) {
        free(l);
        return rc;
    }
    __atomic_fetch_add(&w->loaders, 1, __ATOMIC_RELAXED);
    *out = l;
    return 0;
}

int locus_loader_intent(locus_loader *l, const locus_key *keys, size_t n, locus_clock start, locus_clock end,
                        int access)
{
    if (!l) return error_set(-EINVAL, "locus_loader_intent: the loader is NULL");
    return signal_intent("locus_loader_intent", l->worker, l->stream, keys, n, start, end, access);
}

int locus_loader_close(locus_loader *l)
{
    if (!l) return 0;
    signaling_close(l->worker, &l->stream, false);
    /* Release: pairs with the acquire in locus_worker_close(), which may give back what this loader used. */
    __atomic_fetch_sub(&l->worker->loaders, 1, __ATOMIC_RELEASE);
    free(l);
    return 0;
}

static int meet(const char *call, locus_worker *w, enum collective_kind kind)
{
    if (!w) return no_worker(call);
    if (w->reader.depth > 0) return in_section(call);
    return name_loss(w, collective_meet(&w->node->collective, w->id, kind));
}

int locus_barrier(locus_worker *w)
{
    return meet("locus_barrier", w, COLLECTIVE_BARRIER);
}

int locus_quiesce(locus_worker *w)
{
    if (!w || w->reader.depth > 0) return meet("locus_quiesce", w, COLLECTIVE_QUIESCE); /* which says why not */
    int rc = locus_wait_all(w);
    if (rc == 0 && w->node->moves) rc = settle(w, REQUEST_SETTLE_UPDATES);
    bool two = w->node->replicates;
    if (rc == 0) rc = meet("locus_quiesce", w, two ? COLLECTIVE_UPDATES : COLLECTIVE_QUIESCE);
    if (rc || !two) return rc;
    rc = settle(w, REQUEST_SETTLE_REPLICAS); /* the main copies are final */
    return rc ? rc : meet("locus_quiesce", w, COLLECTIVE_COPIES);
}

int locus_checkpoint(locus_worker *w, const char *directory)
{
    (void)w, (void)directory;
    return error_set(-ENOSYS, "locus_checkpoint: checkpoints are not yet supported");
}

int locus_restore(locus_worker *w, const char *directory)
{
    (void)w, (void)directory;
    return error_set(-ENOSYS, "locus_restore: checkpoints are not yet supported");
}
