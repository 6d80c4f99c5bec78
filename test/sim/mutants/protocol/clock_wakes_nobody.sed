# file: src/bound.c
# what: a worker that comes to the clock which others wait for wakes no shard
# run: --script bounds
/^void bound_advanced/,/^}/ s/wake_shard(w, s);/continue;/
