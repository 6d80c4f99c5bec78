# file: src/protocol/replica.c
# what: a refresh is applied over an update that is under way
# run: exhaustive --scenario "full_replication 1:push,pull 0:push"
/^const char \*replica_refresh/,/^}/ s/has_update(r) || //
