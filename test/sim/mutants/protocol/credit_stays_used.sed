# file: src/protocol/origin.c
# what: an answer does not give its part of the window back
/^static void finish_item/,/^}/ s/shard_asks(.*/(void)peer;/
