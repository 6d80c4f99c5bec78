# file: src/protocol/repair.c
# what: what happened to a key during a repair is looked at by nobody
# run: protocol --seed 2 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void goes_on/,/^}/ s/shard_wake(s, r, WOKEN_OWNER | WOKEN_REPLICA);//
