# file: src/protocol/replica.c
# what: an intent that moves nothing is said again and again
# run: --script kept
/^const char \*replica_answer/,/^}/ s/if (!s->technique->rows_follow || holder || r->is_kept) //
