# file: src/worker/node.c
# what: a worker that comes to the clock which others wait for wakes no shard
# run: protocol --seed 16 --nodes 0 --script bounds --technique relocate --schedule 0
/^static void tell_clocks/,/^}/ s/wake(w, s);/continue;/
