/* Sampling: what programs call (NuPS, Section 4.3). The schemes are in ../worker/sample_*.c. */
#include "base/error.h"
#include "worker/call.h"
#include "worker/sample_stream.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- distributions ---- */

static int check_lengths(const char *call, const struct keyspace *k, locus_key first,
                         uint64_t count)
{
    unsigned t = keyspace_table_of(k, first), last = keyspace_table_of(k, first + count - 1);
    for (unsigned i = t + 1; i <= last; i++)
        if (k->table[i].length != k->table[t].length)
            return error_set(
                -EINVAL,
                "%s: rows of table %s have %u floats, those of %s %u: register a distribution for each "
                "length",
                call, k->table[t].name, k->table[t].length, k->table[i].name, k->table[i].length);
    return 0;
}

static int check_range(const char *call, const locus *n, locus_key first, uint64_t count)
{
    uint64_t keys = n->store.keyspace.keys;
    if (count == 0) return error_set(-EINVAL, "%s: `count` is 0: a distribution needs a key", call);
    if (first >= keys || count > keys - first)
        return error_set(
            -EINVAL, "%s: %llu keys from key %llu are out of range: valid keys are 0 to %llu", call,
            (unsigned long long)count, (unsigned long long)first, (unsigned long long)keys - 1);
    return check_lengths(call, &n->store.keyspace, first, count);
}

static int check_weights(const char *call, locus_key first, const double *weights, uint64_t count)
{
    bool possible = false;
    for (uint64_t i = 0; i < count; i++) {
        unsigned long long key = first + i;
        if (!isfinite(weights[i]) || weights[i] < 0)
            return error_set(
                -EINVAL, "%s: weight %llu, of key %llu, is %g: must be a finite number, at least 0",
                call, (unsigned long long)i, key, weights[i]);
        possible |= weights[i] > 0;
    }
    if (possible) return 0;
    return error_set(-EINVAL, "%s: all %llu weights are 0: one must be above", call,
                     (unsigned long long)count);
}

static int check_kind(const char *call, enum locus_conformity conformity, unsigned flags)
{
    if ((unsigned)conformity > LOCUS_NON_CONFORM)
        return error_set(-EINVAL, "%s: conformity is %d: no such level", call, (int)conformity);
    if (flags & ~(unsigned)LOCUS_WITHOUT_REPLACEMENT)
        return error_set(-EINVAL, "%s: flags are %#x: must be 0 or LOCUS_WITHOUT_REPLACEMENT", call,
                         flags);
    return 0;
}

static int register_distribution(const char *call, locus *n, locus_key first, const double *weights,
                                 uint64_t count, enum locus_conformity conformity, unsigned flags,
                                 locus_distribution **out)
{
    if (!out) return error_set(-EINVAL, "%s: `out` is NULL", call);
    *out = NULL;
    int rc = call_check_node(call, n);
    if (rc == 0) rc = check_range(call, n, first, count);
    if (rc == 0) rc = check_kind(call, conformity, flags);
    if (rc == 0 && weights) rc = check_weights(call, first, weights, count);
    if (rc) return rc;
    locus_distribution *d;
    rc = distribution_new(&d, first, weights, count, n->workers);
    if (rc)
        return error_set(rc, "%s: no memory for a distribution over %llu keys", call,
                         (unsigned long long)count);
    d->node = n;
    d->conformity = conformity;
    d->is_unique = flags & LOCUS_WITHOUT_REPLACEMENT;
    d->rank = (unsigned)n->rank;
    distribution_seed(d, __atomic_fetch_add(&n->distributions, 1, __ATOMIC_RELAXED));
    *out = d;
    return 0;
}

int locus_distribution_uniform(locus *n, locus_key first, uint64_t count,
                               enum locus_conformity conformity, unsigned flags,
                               locus_distribution **out)
{
    return register_distribution("locus_distribution_uniform", n, first, NULL, count, conformity,
                                 flags, out);
}

int locus_distribution_weighted(locus *n, locus_key first, const double *weights, uint64_t count,
                                enum locus_conformity conformity, unsigned flags,
                                locus_distribution **out)
{
    if (out) *out = NULL;
    if (!weights) return error_set(-EINVAL, "locus_distribution_weighted: `weights` is NULL");
    return register_distribution("locus_distribution_weighted", n, first, weights, count,
                                 conformity, flags, out);
}

static int check_distribution(const char *call, const locus_distribution *d)
{
    if (!d) return error_set(-EINVAL, "%s: the distribution is NULL", call);
    return d->node ? 0 : error_set(-EINVAL, "%s: the distribution was freed", call);
}

int locus_distribution_seed(locus_distribution *d, uint64_t seed)
{
    int rc = check_distribution("locus_distribution_seed", d);
    if (rc) return rc;
    if (__atomic_load_n(&d->is_used, __ATOMIC_RELAXED))
        return error_set(
            -EBUSY, "locus_distribution_seed: the distribution was sampled from: seed it before");
    distribution_seed(d, seed);
    return 0;
}

int locus_distribution_seed_worker(locus_distribution *d, int worker, uint64_t seed)
{
    static const char call[] = "locus_distribution_seed_worker";
    int rc = check_distribution(call, d);
    if (rc) return rc;
    if (worker < 0 || (unsigned)worker >= d->streams)
        return error_set(-EINVAL, "%s: worker %d is not one of the node's %u", call, worker,
                         d->streams);
    stream_seed(&d->stream[worker], seed, d->rank, (unsigned)worker);
    return 0;
}

void locus_distribution_free(locus_distribution *d)
{
    if (d && d->node) distribution_free(d);
}

/* ---- preparing ---- */

static int check_alive(const char *call, const locus_worker *w)
{
    int rc = call_check_worker(call, w);
    if (rc || __builtin_expect(call_key_bound(w) > 0, 1)) return rc;
    return w->node->cluster ? cluster_loss(w->node->cluster) : 0;
}

static int check_sample(const char *call, const locus_worker *w, const locus_distribution *d,
                        size_t n, locus_clock start, locus_clock end)
{
    int rc = check_alive(call, w);
    if (rc == 0) rc = check_distribution(call, d);
    if (rc) return rc;
    if (d->node != w->node)
        return error_set(-EINVAL,
                         "%s: the distribution is another node's: register it for this one", call);
    if (end <= start)
        return error_set(-EINVAL,
                         "%s: the sample's use ends at clock %lld, not after its start at %lld",
                         call, (long long)end, (long long)start);
    if (n > LOCUS_SAMPLE_KEYS_MAX)
        return error_set(-EINVAL, "%s: n is %zu: must be at most %d", call, n,
                         LOCUS_SAMPLE_KEYS_MAX);
    if (d->is_unique && n > d->target.possible)
        return error_set(
            -EINVAL,
            "%s: n is %zu, but only %llu keys have a weight above 0: without replacement n is at most that",
            call, n, (unsigned long long)d->target.possible);
    return 0;
}

static struct drawing drawing_of(const locus_distribution *d, struct sample *s, struct preparer who,
                                 locus_clock start)
{
    const locus *n = d->node;
    locus_clock now = locus_current_clock(who.worker);
    return (struct drawing){
        .target = &d->target,
        .store = &n->store,
        .who = who,
        .drawn = d->is_unique ? &s->drawn : NULL,
        .now = now,
        .start = start > now ? start : now, /* a start in the past counts as now */
        .end = s->end,
        .opening = who.worker->samples.openings,
        .rows_move = n->heeds_intents,
        .localize = n->size > 1 && n->plan.technique->rows_follow,
        .intends = d->conformity != LOCUS_NON_CONFORM,
    };
}

/* Decides the keys, unless the level leaves that to the pull, when it is known which rows are here.
 * In a cluster of one all are. */
static int draw(struct sample *s, struct preparer who, size_t n, locus_clock start)
{
    locus_distribution *d = s->distribution;
    struct stream *stream = &d->stream[who.worker->id];
    struct drawing drawing = drawing_of(d, s, who, start);
    bool is_local = d->conformity == LOCUS_NON_CONFORM;
    if (is_local && d->node->size > 1) {
        s->undecided = n;
        return 0;
    }
    int rc = is_local || d->conformity == LOCUS_CONFORM
                 ? stream_draw_independent(stream, &drawing, s->key, n)
                 : stream_draw_reused(stream, &drawing, s->key, n);
    s->waiting = n;
    s->fresh = d->conformity == LOCUS_LONG_TERM ? n : 0;
    return rc;
}

static int fill(struct sample *s, struct preparer who, size_t n, locus_clock start)
{
    int rc = sample_reserve(s, n, s->distribution->is_unique);
    if (rc == 0) rc = draw(s, who, n, start);
    if (rc == -ENOMEM) return error_set(rc, "no memory for a sample of %zu keys", n);
    return rc;
}

static int prepare(const char *call, struct preparer who, locus_distribution *d, size_t n,
                   locus_clock start, locus_clock end, locus_sample *out)
{
    if (!out) return error_set(-EINVAL, "%s: `sample` is NULL", call);
    *out = 0;
    if (n == 0) return 0;
    int rc = check_sample(call, who.worker, d, n, start, end);
    if (rc) return rc;
    locus_sample handle;
    struct samples *all = &who.worker->samples;
    struct sample *s;
    rc = samples_open(all, &s, &handle);
    if (rc == -ENOBUFS)
        return error_set(rc, "%s: worker %d has %d samples open: finish some", call, who.worker->id,
                         LOCUS_SAMPLES_MAX);
    if (rc) return error_set(rc, "%s: no memory for a sample", call);
    if (!__atomic_load_n(&d->is_used, __ATOMIC_RELAXED))
        __atomic_store_n(&d->is_used, true, __ATOMIC_RELAXED);
    s->distribution = d;
    s->end = end;
    rc = fill(s, who, n, start);
    if (rc)
        samples_finish(all, s);
    else
        *out = handle;
    return rc;
}

int locus_prepare_sample(locus_worker *w, locus_distribution *d, size_t n, locus_clock start,
                         locus_clock end, locus_sample *out)
{
    int rc = call_check_worker("locus_prepare_sample", w);
    if (rc) return rc;
    return prepare("locus_prepare_sample", (struct preparer){.worker = w}, d, n, start, end, out);
}

int locus_loader_prepare_sample(locus_loader *l, locus_distribution *d, size_t n, locus_clock start,
                                locus_clock end, locus_sample *out)
{
    int rc = call_check_loader("locus_loader_prepare_sample", l);
    if (rc) return rc;
    return prepare("locus_loader_prepare_sample",
                   (struct preparer){.worker = l->worker, .loader = l}, d, n, start, end, out);
}

/* ---- pulling ---- */

/* Draws what this portion needs beyond the keys that are decided. */
static int decide(locus_worker *w, struct sample *s, size_t n, locus_key *keys)
{
    if (n <= s->waiting) return 0;
    size_t more = n - s->waiting;
    struct drawing d = drawing_of(s->distribution, s, (struct preparer){.worker = w}, 0);
    int rc = stream_draw_local(&s->distribution->stream[w->id], &d, keys, more);
    if (rc) return error_set(rc, "no memory for a sample of %zu keys", s->size);
    for (size_t i = 0; i < more; i++) sample_append(s, keys[i]);
    s->undecided -= more;
    w->samples.drawn += more;
    return 0;
}

/* Intends the keys that were put off, which are the last that wait: an intent brings a row here
 * that has just left, or has not arrived yet (NuPS, Section 4.4: "re-localizes"). */
static int intend_put_off(locus_worker *w, const struct sample *s, size_t n)
{
    locus_clock now = locus_current_clock(w), end = s->end > now ? s->end : clock_after(now, 1);
    const struct preparer who = {.worker = w};
    if (n == 0 || !w->node->heeds_intents) return 0;
    size_t from = sample_place(s, s->waiting - n), first = s->size - from < n ? s->size - from : n;
    int rc = preparer_intend(&who, s->key + from, first, now, end);
    return rc == 0 && n > first ? preparer_intend(&who, s->key, n - first, now, end) : rc;
}

/* Takes n of the keys that wait. A key whose row is not here, and that was not put off before, is
 * put off to the end while enough keys remain; for the rest of the sample that would be useless. */
static int take(locus_worker *w, struct sample *s, size_t n, locus_key *keys, size_t *fresh)
{
    *fresh = 0;
    if (s->fresh == 0) {
        sample_take_all(s, keys, n);
        return 0;
    }
    size_t put_off = 0, first_fresh = s->fresh;
    bool is_rest = n == s->waiting;
    for (size_t taken = 0; taken < n;) {
        bool may_wait = s->fresh > 0 && !is_rest && !local_has_row(w->store, sample_first(s));
        locus_key key = sample_take(s);
        if (may_wait) {
            sample_append(s, key);
            put_off++;
        } else {
            keys[taken++] = key;
        }
    }
    *fresh = first_fresh - s->fresh - put_off;
    return intend_put_off(w, s, put_off);
}

static int pull(locus_worker *w, struct sample *s, size_t n, locus_key *keys, float *values)
{
    size_t fresh;
    int rc = decide(w, s, n, keys);
    if (rc) return rc;
    rc = take(w, s, n, keys, &fresh);
    if (rc == 0) rc = values ? locus_pull(w, keys, n, values) : check_alive("locus_pull_sample", w);
    if (rc) sample_put_back(s, keys, n, fresh);
    return rc;
}

int locus_pull_sample(locus_worker *w, locus_sample handle, size_t n, locus_key *keys,
                      float *values)
{
    int rc = call_check_worker("locus_pull_sample", w);
    if (rc) return rc;
    if (n == 0) return 0;
    struct sample *s = samples_find(&w->samples, handle);
    if (!s)
        return error_set(-EINVAL, "locus_pull_sample: sample %#llx is not open for worker %d",
                         (unsigned long long)handle, w->id);
    if (!keys) return error_set(-EINVAL, "locus_pull_sample: `keys` is NULL for %zu keys", n);
    if (n > sample_left(s))
        return error_set(
            -EINVAL, "locus_pull_sample: asks for %zu keys, but %zu of the sample's %zu are left",
            n, sample_left(s), s->size);
    return pull(w, s, n, keys, values);
}

int locus_finish_sample(locus_worker *w, locus_sample handle)
{
    int rc = call_check_worker("locus_finish_sample", w);
    if (rc) return rc;
    if (handle == 0) return 0; /* of no keys */
    struct sample *s = samples_find(&w->samples, handle);
    if (!s)
        return error_set(-EINVAL, "locus_finish_sample: sample %#llx is not open for worker %d",
                         (unsigned long long)handle, w->id);
    samples_finish(&w->samples, s);
    return 0;
}
