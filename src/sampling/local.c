#include "sampling/local.h"

#include "store/rows.h"

static bool take(const struct store *s, struct keyset *drawn, locus_key key)
{
    return local_has_row(s, key) && (!drawn || keyset_add(drawn, key));
}

static void remember(struct local *l, struct random *r, locus_key key)
{
    uint64_t rest;
    for (unsigned i = 0; i < l->count; i++)
        if (l->known[i] == key) return;
    unsigned place = l->count < LOCAL_KNOWN ? l->count++
                                            : (unsigned)random_below(r, LOCAL_KNOWN, &rest);
    l->known[place] = key;
}

static void search(struct local *l, const struct store *s, const struct target *t, struct random *r,
                   uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++) {
        locus_key key = t->first + l->place;
        if (target_is_possible(t, key) && local_has_row(s, key)) remember(l, r, key);
        l->place = l->place + 1 < t->count ? l->place + 1 : 0;
    }
}

static bool take_known(struct local *l, const struct store *s, struct random *r,
                       struct keyset *drawn, locus_key *key)
{
    uint64_t rest, at = l->count > 0 ? random_below(r, l->count, &rest) : 0;
    for (unsigned tries = l->count; tries > 0; tries--) {
        at = at < l->count ? at : 0;
        *key = l->known[at];
        if (take(s, drawn, *key)) return true;
        if (local_has_row(s, *key))
            at++; /* the sample has it */
        else
            l->known[at] = l->known[--l->count]; /* it left */
    }
    return false;
}

static locus_key draw_ahead(struct local *l, unsigned place, const struct store *s,
                            const struct target *t, struct random *r)
{
    locus_key key = target_key(t, l->chosen[place]);
    l->chosen[place] = target_choose(t, r);
    word_fetch(store_row_ref(s, key));
    return key;
}

static void begin(struct local *l, const struct store *s, const struct target *t, struct random *r)
{
    for (unsigned i = 0; i < LOCAL_AHEAD; i++) l->chosen[i] = target_choose(t, r);
    for (unsigned i = 0; i < LOCAL_AHEAD; i++) l->ahead[i] = draw_ahead(l, i, s, t, r);
    l->has_begun = true;
}

static locus_key draw(struct local *l, const struct store *s, const struct target *t,
                      struct random *r)
{
    if (!l->has_begun) begin(l, s, t, r);
    locus_key key = l->ahead[l->next];
    l->ahead[l->next] = draw_ahead(l, l->next, s, t, r);
    l->next = (l->next + 1) % LOCAL_AHEAD;
    return key;
}

bool local_draw(struct local *l, const struct store *s, const struct target *t, struct random *r,
                struct keyset *drawn, locus_key *key)
{
    bool is_hopeless = l->keys_in_vain >= t->count;
    for (int draws = is_hopeless ? 1 : LOCAL_DRAWS; draws > 0; draws--) {
        *key = draw(l, s, t, r);
        if (take(s, drawn, *key)) {
            l->keys_in_vain = 0;
            return true;
        }
    }
    bool is_brief = is_hopeless || l->count >= LOCAL_KNOWN / 2;
    uint64_t keys = is_brief ? LOCAL_SEARCH / 16 : LOCAL_SEARCH;
    if (keys > t->count) keys = t->count;
    search(l, s, t, r, keys);
    bool found = take_known(l, s, r, drawn, key);
    l->keys_in_vain = found ? 0 : l->keys_in_vain + keys;
    return found;
}
