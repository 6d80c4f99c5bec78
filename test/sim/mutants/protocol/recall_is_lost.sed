# file: src/protocol/replica.c
# what: a holder does not heed that it is the last one
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,end"
/^const char \*replica_recall/,/^}/ s/r->is_recalled = true;/(void)0;/
