# file: src/protocol/replica.c
# what: who waits for a version of the lost owner waits for ever
# run: protocol --script survive --technique adaptive
/^void replica_is_orphaned/,/^}/ s/origin_seen(s, r);//
