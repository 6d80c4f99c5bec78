# file: src/protocol/origin.c
# what: a pull that waits because the owner is silent asks for nothing
# run: protocol --seed 19 --nodes 0 --script silence --technique relocate --schedule 0
s/^    if (!record->sync && !record->wants_row) shard_wake(s, record, WOKEN_REPLICA);$/    (void)s, (void)record;/
