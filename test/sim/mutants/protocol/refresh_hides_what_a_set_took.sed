# file: src/protocol/replica.c
# what: a refresh is applied while a set is under way that took updates along: they are not to be seen any more
# run: exhaustive --scenario "full_replication 0:push 1:push,pull 1:set"
/^static bool has_update/,/^}/ s/ || r->sync == SYNC_SETS//
