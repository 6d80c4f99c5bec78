# file: src/protocol/shard.c
# what: who waited for credit is not looked at again
s/origin_wake_stalled(s);/(void)0;/
