# file: src/protocol/sources.h
# what: a shard that is asked serves a pull from a replica whose owner is silent
# run: --script silence
s/return all->bound_ns > 0 && l.is_replica &&/return all->bound_ns > UINT64_MAX \/ 2 \&\& l.is_replica \&\&/
