# file: src/protocol/replica.c
# what: nothing remembers that a sync that was lost is to be said again
# run: exhaustive --scenario "lose=0 1:keep,push 2:localize"
/^void replica_sync_is_lost/,/^}/ s/    shard_wake(s, r, WOKEN_REPLICA);.*$//
