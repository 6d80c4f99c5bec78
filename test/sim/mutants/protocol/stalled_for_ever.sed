# file: src/protocol/shard.c
# what: who waited for a window is not looked at again
s/if (s->stalled) access_go_on(s);/(void)0;/
