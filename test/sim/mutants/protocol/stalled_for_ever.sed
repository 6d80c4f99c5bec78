# file: src/protocol/shard.c
# what: who waited for a window is not looked at again
s/origin_wake_stalled(s);/(void)0;/
