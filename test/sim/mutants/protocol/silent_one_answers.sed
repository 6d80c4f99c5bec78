# file: src/protocol/sources.h
# what: a shard that is asked serves a pull from a replica whose owner is silent
# run: protocol --seed 19 --nodes 0 --script silence --technique relocate --schedule 0
s/return all->bound_ns > 0 && l.is_replica &&/return all->bound_ns > UINT64_MAX \/ 2 \&\& l.is_replica \&\&/
