# file: src/protocol/repair.c
# what: who joins does not take what nobody has claimed
# run: protocol --seed 35 --nodes 0 --script join --technique adaptive --schedule 0
/^static void decide(/,/^}/ s/ || l->change.node == s->rank//
