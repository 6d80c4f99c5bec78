# file: src/protocol/replica.c
# what: what was added to a replica while its entry was under way is never sent
# by: exhaustive
/^void replica_changed/,/^}/ s/r->is_later = true;/(void)0;/
