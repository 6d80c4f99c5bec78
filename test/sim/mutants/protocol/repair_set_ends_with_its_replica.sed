# file: src/protocol/replica.c
# what: a set that was lost with the end of its replica is not asked again
# run: protocol --seed 3779 --nodes 0 --script survive --technique adaptive --schedule 0
/^void replica_sync_is_lost/,/^}/ s/origin_set_again(s, r);/(void)r;/
