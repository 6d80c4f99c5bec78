# file: src/protocol/replica.c
# what: who waits for a version of the lost owner waits for ever
# run: protocol --seed 1436 --nodes 0 --script survive --technique adaptive --schedule 0
/^void replica_is_orphaned/,/^}/ s/if (r->unseen_first != REQUEST_NOWHERE) r->unseen_version = 1;.*//
