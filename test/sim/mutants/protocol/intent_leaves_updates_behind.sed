# file: src/protocol/replica.c
# what: updates of a replica that tells of another intent are forgotten
# run: protocol --seed 29 --nodes 0 --script kept --technique adaptive --schedule 0
/^size_t replica_emit/,/^}/ s/if (had_replica && flags & WIRE_BEGIN && row_is_dirty(ref)) replica_changed/if (0) replica_changed/
