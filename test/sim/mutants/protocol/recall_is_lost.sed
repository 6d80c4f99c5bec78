# file: src/protocol/replica.c
# what: a holder does not heed that it is the last one
# by: exhaustive
/^const char \*replica_recall/,/^}/ s/r->is_recalled = true;/(void)0;/
