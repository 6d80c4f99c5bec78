# file: src/protocol/replica.c
# what: that a replica has ended is heard after the row has come back by another way, and taken for a mistake of the peer's
# run: exhaustive --scenario "adaptive 0:begin,end 1:begin,end,localize 2:localize"
/^const char \*replica_answer/,/^}/ s/if (holder || e->length) return "an answer about/return "an answer about/
