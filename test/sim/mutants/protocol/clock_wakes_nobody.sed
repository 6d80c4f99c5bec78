# file: src/node/signaling.c
# what: a worker that comes to the clock which others wait for wakes no shard
# run: --script bounds
/^static void tell_clocks/,/^}/ s/wake(w, s);/continue;/
