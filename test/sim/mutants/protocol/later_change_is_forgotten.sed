# file: src/protocol/replica.c
# what: what was added to a replica while its entry was under way is never sent
# run: exhaustive --scenario "adaptive 1:keep,begin,unkeep,push 0:begin"
/^void replica_changed/,/^}/ s/r->is_later = true;/(void)0;/
