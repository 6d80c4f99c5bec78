# file: src/protocol/origin.c
# what: after an answer nobody looks at the requests that wait
# run: exhaustive --scenario "0:localize 1:push*,pull 2:push"
/^static void finish_item/,/^}/ s/shard_wake(s, record, .*);/(void)0;/
