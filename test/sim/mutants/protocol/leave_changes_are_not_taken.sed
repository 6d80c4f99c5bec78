# file: src/protocol/repair.c
# what: who leaves saves only what its shard had heard of
# run: protocol --seed 25 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void leave(/,/^}/ s/round_take_changes(s);//
