#include "api/distinct.h"

#include "base/error.h"
#include "worker/call.h"

#include <stdlib.h>

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

bool distinct_are(const locus_key *keys, size_t n)
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
