# file: src/protocol/replica.c
# what: a holder does not heed that it is the last one
# by: exhaustive
/^const char \*replica_poke/,/^}/ s/r->is_poked = true;/(void)0;/
