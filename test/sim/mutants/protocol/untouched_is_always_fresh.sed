# file: src/protocol/sources.c
# what: where every node holds every row, nobody's silence counts
# run: --script silence --technique full
s/return shard_is_full(s) ? node != s->rank : /return /
