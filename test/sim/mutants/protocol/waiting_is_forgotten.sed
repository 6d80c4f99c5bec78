# file: src/protocol/origin.c
# what: after an answer nobody looks at the requests that wait
# by: exhaustive
/^static void finish_item/,/^}/ s/shard_wake(s, record, .*);/(void)0;/
