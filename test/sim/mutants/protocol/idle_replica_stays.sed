# file: src/protocol/replica.c
# what: the end of the last intent for a replica of which nothing else must be said is not told
# run: protocol --seed 40 --nodes 0 --script kept --technique adaptive --schedule 0
/^static void nobody_wants/,/^}/ s/backlog_add(s, r, r->owner, BACKLOG_LAZY);/(void)0;/
