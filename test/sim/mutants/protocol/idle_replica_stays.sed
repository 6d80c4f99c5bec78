# file: src/actors/rounds.c
# what: the end of the last intent for a replica of which nothing else must be said is not told
/^void rounds_unwant/,/^}/ s/queue_entry(s, r, r->owner, ROUNDS_LAZY);/(void)0;/
