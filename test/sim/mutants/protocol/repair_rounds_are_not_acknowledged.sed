# file: src/protocol/repair.c
# what: a round that ended during a repair is not acknowledged
# run: protocol --seed 4 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void end(/,/^}/ s/if (l->round\[n\]) shard_send.*$//
