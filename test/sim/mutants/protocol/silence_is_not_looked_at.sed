# file: src/protocol/sources.h
# what: workers read replicas however long their owners have been silent
# run: protocol --seed 19 --nodes 0 --script silence --technique relocate --schedule 0
s/return now_ns <= __atomic_load_n(&all->fresh_until_ns, __ATOMIC_ACQUIRE);/return now_ns > 0 || all;/
