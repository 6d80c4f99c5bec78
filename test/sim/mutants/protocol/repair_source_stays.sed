# file: src/protocol/replica.c
# what: an orphan that has an owner again counts as the replica of another
# run: protocol --seed 35 --nodes 0 --script survive --technique replicate --schedule 0
/^void replica_comes_from/,/^}/ s/    r->source = (uint16_t)owner;//
