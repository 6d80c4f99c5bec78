# file: src/protocol/replica.c
# what: the end of the last intent for a replica of which nothing else must be said is not told
/^void entries_unwant/,/^}/ s/rounds_queue_entry(s, r, r->owner, ROUNDS_LAZY);/(void)0;/
