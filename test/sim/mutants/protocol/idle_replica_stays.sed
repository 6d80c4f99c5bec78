# file: src/protocol/replica.c
# what: the end of the last intent for a replica of which nothing else must be said is not told
/^static void nobody_wants/,/^}/ s/backlog_add_sync(s, r, r->owner, BACKLOG_LAZY);/(void)0;/
