# file: src/protocol/owner.c
# what: the row goes to the last holder at once, whatever that has under way, instead of a recall
# run: exhaustive --scenario "adaptive 1:begin,end,begin 0:begin"
/^bool owner_recall/,/^}/ {
s/    say(s, r, node, WIRE_RECALL, 0, 0);/    struct wire_entry e = {.operation = WIRE_SYNC, .origin = h->node, .key = keyspace_key(\&s->store->keyspace, s->number, r->index)};\n    give(s, shard_row_ref(s, r->index), \&e, NULL, WHY_LAST_INTENT);/
}
