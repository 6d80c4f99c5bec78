/*
 * sample_local.h - local sampling: keys of the distribution whose rows are here (NuPS, Section 4.4, "Local
 * sampling").
 *
 * Keys are drawn from the target until a row is here, at most LOCAL_DRAWS times: that is the target
 * restricted to the rows that are here. A bit says whether one is (store.h), so a draw in vain
 * touches no line that others write often. If that fails, few rows are here. Then the last key's
 * part of the range, that of its shard, is searched from this key on, 64 keys at once, for
 * LOCAL_SEARCH steps; the first key found is used, whatever its weight. If there is none, the
 * caller falls back.
 *
 * Memory    its own
 * Waiting   never
 * Life      zeroed, local_draw any number of times
 */
#ifndef LOCUS_WORKER_SAMPLE_LOCAL_H
#define LOCUS_WORKER_SAMPLE_LOCAL_H

#include "store/store.h"
#include "worker/sample_target.h"

enum { LOCAL_DRAWS = 32, LOCAL_SEARCH = 256, LOCAL_AHEAD = 16 };

struct local {
    locus_key ahead[LOCAL_AHEAD]; /* drawn together; looked at when they are used */
    unsigned left;                /* of them, the first ones */
};

/* Can the row of `key` be read without the network? */
static inline bool local_has_row(const struct store *s, locus_key key)
{
    struct row_ref ref = store_row_ref(s, key);
    return row_ref_is_held(ref, directory_load(row_ref_word(ref)));
}

/* With `drawn`: a key that is not in it, which is added to it. False: the search found no such key
 * here. */
bool local_draw(struct local *, const struct store *, const struct target *, struct random *,
                struct keyset *drawn, locus_key *key);

#endif
