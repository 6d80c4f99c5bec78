# file: src/protocol/replica.c
# what: a refresh is applied while a set is under way that took updates along: they are not to be seen any more
# by: exhaustive
/^static bool has_update/,/^}/ s/ || r->sync == SYNC_SETS//
