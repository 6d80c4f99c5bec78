#include "api/parts.h"

#include "base/error.h"
#include "base/team.h"
#include "worker/call.h"

#include <stdlib.h>
#include <string.h>

/* ---- which keys repeat ---- */

/* Finds keys by hash. A slot holds the place of a key, plus one; 0: free. */
struct seen {
    uint32_t *slot;
    unsigned bits; /* as many slots as a power of two, at least twice as many as there are keys */
};

static bool begin(struct seen *s, size_t n)
{
    s->bits = 1;
    while (((size_t)1 << s->bits) < 2 * n) s->bits++;
    s->slot = calloc((size_t)1 << s->bits, sizeof *s->slot);
    return s->slot != NULL;
}

/* The slot of a key: free, or with its place in `keys`. */
static inline uint32_t *find(const struct seen *s, const locus_key *keys, locus_key key)
{
    const size_t mask = ((size_t)1 << s->bits) - 1;
    size_t at = key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - s->bits);
    while (s->slot[at] && keys[s->slot[at] - 1] != key) at = (at + 1) & mask;
    return &s->slot[at];
}

/* Does no key repeat? false also if there is no memory to tell. */
static bool are_different(const locus_key *keys, size_t n)
{
    struct seen s;
    if (n > INT32_MAX || !begin(&s, n)) return false;
    size_t i = 0;
    for (uint32_t *slot; i < n && *(slot = find(&s, keys, keys[i])) == 0; i++)
        *slot = (uint32_t)i + 1;
    free(s.slot);
    return i == n;
}

static int check(const locus_key *keys, size_t n, locus_key bound, const void *distinct,
                 const void *places)
{
    static const char call[] = "locus_distinct";
    if (n > INT32_MAX)
        return error_set(-EINVAL, "%s: n is %zu: at most %d keys in a call", call, n, INT32_MAX);
    if (!keys) return call_no_array(call, "keys", n);
    if (!distinct) return call_no_array(call, "distinct", n);
    if (!places) return call_no_array(call, "places", n);
    bool ok = bound > 0;
    for (size_t i = 0; i < n; i++) ok &= keys[i] < bound;
    return ok ? 0 : call_bad_key(call, bound, keys, n);
}

int locus_distinct(const locus_key *keys, size_t n, locus_key bound, locus_key *distinct,
                   int64_t *places, size_t *count)
{
    if (!count) return error_set(-EINVAL, "locus_distinct: `count` is NULL");
    *count = 0;
    if (n == 0) return 0;
    int rc = check(keys, n, bound, distinct, places);
    if (rc) return rc;
    struct seen s;
    if (!begin(&s, n)) return error_set(-ENOMEM, "locus_distinct: no memory for %zu keys", n);
    uint32_t different = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = find(&s, distinct, keys[i]);
        if (*slot == 0) {
            distinct[different] = keys[i];
            *slot = ++different;
        }
        places[i] = *slot - 1;
    }
    free(s.slot);
    *count = different;
    return 0;
}

/* ---- rows, part by part ---- */

enum {
    PART_KEYS = 128, /* the fewest that are worth another thread */
    WRITES = 8192,   /* the fewest that are worth looking whether their keys are different */
    PARTS_MAX = 64,
};

struct part {
    size_t first, offset; /* of its keys and of its values, in floats */
    size_t n, misses, replicas;
    int rc;
};

struct parts {
    const locus_worker *worker;
    enum request_kind kind;
    const locus_key *keys;
    float *values;
    struct missed_row *missed;
    struct part part[PARTS_MAX];
};

static size_t length_in(const struct keyspace_table *range, enum request_kind kind)
{
    bool has_state = kind == REQUEST_PULL_STATE || kind == REQUEST_SET_STATE;
    return has_state ? range->stored : range->length;
}

size_t parts_floats(const struct store *s, enum request_kind kind, const locus_key *keys, size_t n)
{
    const struct keyspace *k = &s->keyspace;
    if (k->ranges == 1) return n * length_in(&k->range[0], kind);
    size_t floats = 0;
    for (size_t i = 0; i < n; i++)
        floats += length_in(&k->range[keyspace_range_of(k, keys[i])], kind);
    return floats;
}

/* `mine`: the worker's copies of rows, which its own thread alone may use. */
static size_t access_some(const locus_worker *w, struct copies *mine, enum request_kind kind,
                          const locus_key *keys, size_t n, float *values, struct missed_row *missed,
                          size_t *replicas, int *rc)
{
    if (kind == REQUEST_PULL) return rows_read(w->store, mine, keys, n, values, missed, replicas);
    if (kind == REQUEST_PULL_STATE || kind == REQUEST_SET_STATE)
        return rows_access_stored(w->store, keys, n, values, kind == REQUEST_SET_STATE, missed,
                                  replicas, rc);
    return rows_write(w->store, mine, keys, n, values, kind == REQUEST_PUSH ? ROW_ADD : ROW_SET,
                      missed, replicas, rc);
}

static void access_part(void *access, unsigned number)
{
    struct parts *a = access;
    struct part *p = &a->part[number];
    p->misses = access_some(a->worker, NULL, a->kind, a->keys + p->first, p->n,
                            a->values + p->offset, a->missed ? a->missed + p->first : NULL,
                            &p->replicas, &p->rc);
}

/* Puts those that a part missed behind those of the parts before it. */
static size_t gather_missed(const struct parts *a, const struct part *p, size_t misses)
{
    if (!a->missed) return misses + p->misses;
    for (size_t i = 0; i < p->misses; i++) {
        struct missed_row each = a->missed[p->first + i];
        a->missed[misses++] =
            (struct missed_row){each.position + p->first, each.offset + p->offset};
    }
    return misses;
}

static size_t access_in_parts(struct parts *a, unsigned parts, size_t n, size_t *replicas, int *rc)
{
    size_t first = 0, offset = 0, misses = 0;
    for (unsigned i = 0; i < parts; i++) {
        size_t end = n * (i + 1) / parts;
        a->part[i] = (struct part){.first = first, .offset = offset, .n = end - first};
        offset += i + 1 < parts
                      ? parts_floats(a->worker->store, a->kind, a->keys + first, end - first)
                      : 0;
        first = end;
    }
    team_do(a->worker->team, parts, access_part, a);
    for (unsigned i = 0; i < parts; i++) {
        const struct part *p = &a->part[i];
        misses = gather_missed(a, p, misses);
        *replicas += p->replicas;
        if (p->rc) *rc = p->rc;
    }
    return misses;
}

/* Threads may write different rows, whatever these are. A row of which a call has several writes
 * takes them in order, if they are not sums; and it has no latch on a node with one writer. */
static bool may_share_any(const struct store *s, enum request_kind kind)
{
    return request_pulls(kind) ||
           (kind == REQUEST_PUSH && !s->has_optimizers && !s->has_one_writer);
}

size_t parts_access(const locus_worker *w, enum request_kind kind, const locus_key *keys, size_t n,
                    float *values, struct missed_row *missed, size_t *replicas, int *rc)
{
    struct store *s = w->store;
    size_t parts = n / PART_KEYS, misses;
    bool any = may_share_any(s, kind), numbers = s->has_bf16 && s->has_one_writer;
    bool apart = !any && n >= WRITES && (w->team || numbers) && are_different(keys, n);
    if (apart && numbers) s->draws.stays = true;
    if (w->team && parts > 1 && (any || apart)) {
        struct parts a = {w, kind, keys, values, missed, {{0}}};
        misses =
            access_in_parts(&a, parts < PARTS_MAX ? (unsigned)parts : PARTS_MAX, n, replicas, rc);
    } else {
        misses = access_some(w, w->copies, kind, keys, n, values, missed, replicas, rc);
    }
    if (apart && numbers) s->draws = (struct draws){s->draws.number + 1, false};
    return misses;
}

void parts_close(locus_worker *w)
{
    team_free(w->team);
    w->team = NULL;
}

int locus_use_threads(locus_worker *w, unsigned threads)
{
    int rc = call_check_worker("locus_use_threads", w);
    if (rc) return rc;
    if (threads < 1 || threads > LOCUS_THREADS_MAX)
        return error_set(-EINVAL, "locus_use_threads: %u threads: must be 1 to %d", threads,
                         LOCUS_THREADS_MAX);
    struct team *team = threads > 1 ? team_new(threads - 1) : NULL;
    if (threads > 1 && !team) return -ENOMEM;
    if (w->missed) {
        struct missed_row *more = realloc(w->missed, threads * CALL_CHUNK * sizeof *more);
        if (!more) {
            team_free(team);
            return error_set(-ENOMEM, "no memory for %u threads", threads);
        }
        w->missed = more;
        w->chunk = (size_t)CALL_CHUNK * threads;
    }
    parts_close(w);
    w->team = team;
    return 0;
}
