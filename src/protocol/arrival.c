#include "protocol/arrival.h"

#include "protocol/holders.h"
#include "store/row.h"

static bool is_known(const struct shard *s, const struct wire_rule *rule)
{
    if (rule->technique == WIRE_ALL) return true;
    return rule->technique == WIRE_MOVING ? s->technique->moves : s->dirty != NULL;
}

static bool may_have(const struct wire_rule *rule, uint8_t flags)
{
    if (rule->flags[0] == flags) return true;
    for (unsigned i = 1; i < rule->flag_sets; i++)
        if (rule->flags[i] == flags) return true;
    return false;
}

static const char *check_nodes(const struct shard *s, unsigned peer, const struct wire_entry *e,
                               enum wire_route route)
{
    switch (route) {
    case WIRE_REQUEST:
        if (e->origin >= s->nodes || e->owner >= s->nodes)
            return "a request of a node that does not exist";
        /* where rows do not move, nobody passes it on */
        return s->technique->moves || e->origin == peer ? NULL
                                                        : "a request in the name of another node";
    case WIRE_REPLY:
        if (e->owner != peer) return "an answer in the name of another node";
        return e->origin == s->rank ? NULL : "an answer that another node was asked for";
    case WIRE_GIFT:
        if (e->owner != s->rank) return "a row for another node";
        break;
    case WIRE_NEWS:
        if (e->owner >= s->nodes) return "news of a node that does not exist";
        if (e->owner == s->rank)
            return "news of a row that is ours"; /* the row itself tells that */
        break;
    case WIRE_OF_SHARD:
        if (e->owner != peer) return "an entry in the name of another node";
        break;
    }
    return e->origin == peer ? NULL : "an entry in the name of another node";
}

static uint32_t length_of(const struct wire_rule *rule, const struct wire_entry *e,
                          const struct partition *p)
{
    switch ((enum wire_values)rule->values) {
    case WIRE_NO_VALUES: break;
    case WIRE_ROW_UPDATES: return p->length;
    case WIRE_A_ROW: return p->stored;
    case WIRE_MAYBE_A_ROW: return e->length ? p->stored : 0;
    case WIRE_ROW_OR_VALUES: return e->flags & WIRE_STATE ? p->stored : p->packed;
    case WIRE_RECORD_OR_ROW:
        if (e->flags & WIRE_GRADIENT)
            return p->optimizer && p->optimizer->keeps_gradients ? p->length + OPTIMIZER_STEP_FLOATS
                                                                 : UINT32_MAX;
        if (e->flags & WIRE_UPDATE) return p->record;
        return e->flags & WIRE_VALUE ? p->stored : 0;
    }
    return 0;
}

/* All that can be checked of an entry whatever the state of the shard. wire_next() has passed it.
 * Returns NULL, or what is wrong with it. */
static const char *check(const struct shard *s, unsigned peer, const struct wire_entry *e,
                         struct arrival *out)
{
    const struct wire_rule *rule = &wire_rules[e->operation];
    out->entry = e;
    out->peer = peer;
    if (!is_known(s, rule)) return "an entry of what the cluster's technique does not know";
    if (rule->route == WIRE_OF_SHARD) {
        if (e->key || e->length) return "a round or a clock with a key or values";
        out->ref = (struct row_ref){0};
    } else {
        if (e->key >= s->store->keyspace.keys) return "a key that does not exist";
        if (keyspace_shard(&s->store->keyspace, e->key) != s->number)
            return "a key of another shard";
        out->ref = store_row_ref(s->store, e->key);
        if (e->length != length_of(rule, e, out->ref.partition))
            return "a row of another length than its table's";
    }
    if (!may_have(rule, e->flags)) return "an entry with flags of something else";
    return check_nodes(s, peer, e, rule->route);
}

/* ---- what serving it will look at is on its way into the cache ---- */

static void fetch(const struct shard *s, const struct arrival *a)
{
    if (!a->ref.partition) return;
    word_fetch(a->ref);
    if (s->technique->moves) record_fetch(&s->records, a->ref.index);
}

/* A moment later: what the first look tells. */
static void fetch_found(const struct shard *s, const struct arrival *a)
{
    if (!a->ref.partition) return;
    if (arrival_touches_row(a)) row_fetch_found(a->ref);
    if (s->technique->moves) record_fetch_found(&s->records, a->ref.index);
}

unsigned arrivals_next(const struct shard *s, unsigned peer, struct wire_cursor *c,
                       struct arrival arrived[ARRIVALS_AHEAD], const char **why)
{
    const struct wire_entry *e;
    unsigned n = 0;
    while (n < ARRIVALS_AHEAD && (e = wire_next(c, why))) {
        *why = check(s, peer, e, &arrived[n]);
        if (*why) break;
        fetch(s, &arrived[n]);
        n++;
    }
    for (unsigned i = 0; i < n; i++) fetch_found(s, &arrived[i]);
    for (unsigned i = 0; i < n; i++)
        if (arrived[i].entry->operation == WIRE_SYNC) holders_fetch(s, arrived[i].ref.index);
    return n;
}
