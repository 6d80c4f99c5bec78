# file: src/protocol/origin.c
# what: a pull that waits because the owner is silent asks for nothing
# run: --script silence
s/^    if (!record->sync && !record->wants_row) shard_wake(s, record, WOKEN_REPLICA);$/    (void)s, (void)record;/
