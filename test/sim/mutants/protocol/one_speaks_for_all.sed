# file: src/protocol/sources.c
# what: replicas are fresh as long as that owner speaks who was heard of last
# run: protocol --seed 61 --nodes 0 --script silence --technique adaptive --schedule 0
s/^    uint64_t until_ns = UINT64_MAX;$/    uint64_t until_ns = 0;/
s/counts(s, n) \&\& silent_ns < until_ns/counts(s, n) \&\& silent_ns > until_ns/
