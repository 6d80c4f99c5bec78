/*
 * local.h - local sampling: keys of the distribution whose rows are here (NuPS, Section 4.4, "Local
 * sampling").
 *
 * Keys are drawn from the target until a row is here, at most LOCAL_DRAWS times: that is the target
 * restricted to the rows that are here. If that fails, few rows are here. Then a piece of the range
 * is searched, from where the last search stopped. One of the keys found (LOCAL_KNOWN are
 * remembered) that is still here is used, whatever its weight. If there is none, there is no local
 * key, and the caller falls back. While enough are known a search is short: it only brings others
 * in, now and then. So it is after the whole range was searched in vain, until one succeeds.
 *
 * Memory    its own
 * Waiting   never
 * Life      zeroed, local_draw any number of times
 */
#ifndef LOCUS_SAMPLING_LOCAL_H
#define LOCUS_SAMPLING_LOCAL_H

#include "sampling/target.h"
#include "store/store.h"

enum { LOCAL_DRAWS = 32, LOCAL_SEARCH = 256, LOCAL_KNOWN = 64, LOCAL_AHEAD = 8 };

struct local {
    /* draws begun, in a ring, while their cells are prefetched; */
    struct alias_chance chosen[LOCAL_AHEAD];
    /* drawn before them, while their directory words are prefetched */
    locus_key ahead[LOCAL_AHEAD];
    unsigned next;
    bool has_begun;
    locus_key known[LOCAL_KNOWN];
    unsigned count;        /* known */
    uint64_t place;        /* in the range, where to search next */
    uint64_t keys_in_vain; /* searched since a key was found here */
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
