# file: src/protocol/replica.c
# what: a refresh is applied over an update that is under way
# by: exhaustive
/^const char \*replica_refresh/,/^}/ s/has_update(r) || //
