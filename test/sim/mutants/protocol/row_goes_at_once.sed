# file: src/protocol/owner.c
# what: the row goes to the last holder at once, whatever that has under way, instead of a poke
# by: exhaustive
/^bool owner_poke/,/^}/ {
s/    say(s, r, node, WIRE_POKE, 0, 0);/    struct wire_entry e = {.operation = WIRE_ENTRY, .origin = h->node, .key = keyspace_key(\&s->store->keyspace, s->number, r->index)};\n    handover_give(s, shard_spot(s, r->index), \&e, NULL);/
}
