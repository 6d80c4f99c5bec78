# file: src/protocol/origin.c
# what: an answer does not give its credit back
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static void finish_item/,/^}/ s/shard_asks(.*/(void)peer;/
