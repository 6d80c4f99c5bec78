# file: src/protocol/sources.c
# what: where every node holds every row, nobody's silence counts
# run: protocol --seed 1 --nodes 0 --script silence --technique full_replication --schedule 0
s/return shard_is_full(s) ? node != s->rank : /return /
