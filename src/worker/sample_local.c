#include "worker/sample_local.h"

#include "store/row.h"

static bool take(struct keyset *drawn, locus_key key)
{
    return !drawn || keyset_add(drawn, key);
}

static locus_key draw(struct local *l, const struct target *t, struct random *r)
{
    if (l->left == 0) {
        target_draw_many(t, r, l->ahead, LOCAL_AHEAD);
        l->left = LOCAL_AHEAD;
    }
    return l->ahead[--l->left];
}

/* The target's keys in the partition of one of them, by numbers: from ... end - 1. */
struct span {
    uint64_t from, end;
};

static struct span span_of(const struct keyspace *k, const struct partition *p,
                           const struct target *t, unsigned shard)
{
    uint64_t from = keyspace_count_below(k, t->first, shard) - p->first_number;
    uint64_t end = keyspace_count_below(k, t->first + t->count, shard) - p->first_number;
    uint64_t first = p->first_bucket, last = first + p->keys;
    /* signed: what lies before the partition has a number below 0 */
    return (struct span){(int64_t)from > (int64_t)first ? from : first, end < last ? end : last};
}

static bool search(const struct store *s, const struct target *t, struct keyset *drawn,
                   locus_key *key)
{
    struct row_ref at = store_row_ref(s, *key);
    const struct partition *p = at.partition;
    unsigned shard = keyspace_shard(&s->keyspace, *key);
    struct span span = span_of(&s->keyspace, p, t, shard);
    uint64_t number = row_ref_number(at);
    for (int steps = LOCAL_SEARCH; steps > 0; steps--) {
        uint64_t held = partition_held(p, number / 64) >> number % 64;
        number = held ? number + (unsigned)__builtin_ctzll(held) : (number | 63) + 1;
        if (number >= span.end) {
            number = span.from;
        } else if (held) {
            *key = keyspace_key(&s->keyspace, shard, number++ + p->first_number);
            if (target_is_possible(t, *key) && take(drawn, *key)) return true;
            if (number == span.end) number = span.from;
        }
    }
    return false;
}

bool local_draw(struct local *l, const struct store *s, const struct target *t, struct random *r,
                struct keyset *drawn, locus_key *key)
{
    for (int draws = LOCAL_DRAWS; draws > 0; draws--) {
        *key = draw(l, t, r);
        if (row_ref_was_held(store_row_ref(s, *key)) && take(drawn, *key)) return true;
    }
    return search(s, t, drawn, key);
}
