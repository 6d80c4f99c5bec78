# file: src/protocol/origin.c
# what: a row that is set by another node gets a state of what lay there
# run: protocol --seed 14 --nodes 0 --script stress --technique relocate --schedule 0
/^static void copy_row/,/^}/ s/memset(.*);/memset(to + p->packed, 1, state);/
