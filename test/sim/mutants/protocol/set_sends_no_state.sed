# file: src/store/store.h
# what: a row that is set by another node gets a state of what lay there
# run: protocol --seed 14 --nodes 0 --script stress --technique relocate --schedule 0
/^static inline void partition_store/,/^}/ s/floats_zero(.*);/memset(to + p->packed, 1, state * sizeof *to);/
