# file: src/protocol/replica.c
# what: an intent that moves nothing is said again and again
# run: protocol --seed 2774 --nodes 0 --script kept --technique relocate --schedule 0
/^const char \*replica_answer/,/^}/ s/if (!s->technique->rows_follow || holder || r->is_kept) //
