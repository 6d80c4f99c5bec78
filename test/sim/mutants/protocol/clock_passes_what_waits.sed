# file: src/protocol/replica.c
# what: a clock is said although updates wait behind an entry under way
# by: exhaustive
/^void replica_changed/,/^}/ s/clocks_unsent(s, r);/if (!r->sync) clocks_unsent(s, r);/
