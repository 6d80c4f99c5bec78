# file: src/protocol/origin.c
# what: an answer does not give its credit back
/^static void finish_item/,/^}/ s/shard_asks(.*/(void)peer;/
