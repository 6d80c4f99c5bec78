# file: src/protocol/owner.c
# what: a step that travels as its gradient is not made at the owner
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
/^static void merge/,/^}/ s/shard_step(s, ref.*/(void)step;/
