#include "protocol/arrival.h"

static bool is_known(const struct shard *s, const struct wire_rule *rule)
{
    if (rule->technique == WIRE_REPLICATING) return s->dirty;
    return rule->technique == WIRE_ALL || s->technique->moves;
}

static bool may_have(const struct wire_rule *rule, uint8_t flags)
{
    for (unsigned i = 0; i < rule->flag_sets; i++)
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

static bool is_length_right(const struct wire_rule *rule, const struct wire_entry *e, uint32_t row)
{
    if (e->length == 0)
        return rule->values == WIRE_NO_VALUES || rule->values == WIRE_MAYBE_A_ROW ||
               (rule->values == WIRE_ROW_BY_FLAG && !(e->flags & (WIRE_UPDATE | WIRE_VALUE)));
    if (rule->values == WIRE_NO_VALUES || e->length != row) return false;
    return rule->values != WIRE_ROW_BY_FLAG || e->flags & (WIRE_UPDATE | WIRE_VALUE);
}

const char *arrival_check(const struct shard *s, unsigned peer, const struct wire_entry *e,
                          struct arrival *out)
{
    const struct wire_rule *rule = &wire_rules[e->operation];
    *out = (struct arrival){.entry = e, .peer = peer};
    if (!is_known(s, rule)) return "an entry of what the cluster's technique does not know";
    if (rule->route == WIRE_OF_SHARD) {
        if (e->key || e->length) return "a round or a clock with a key or values";
    } else {
        if (e->key >= s->store->keyspace.keys) return "a key that does not exist";
        if (keyspace_shard(&s->store->keyspace, e->key) != s->number)
            return "a key of another shard";
        out->ref = store_row_ref(s->store, e->key);
        if (!is_length_right(rule, e, out->ref.partition->length))
            return "a row of another length than its table's";
    }
    if (!may_have(rule, e->flags)) return "an entry with flags of something else";
    return check_nodes(s, peer, e, rule->route);
}
