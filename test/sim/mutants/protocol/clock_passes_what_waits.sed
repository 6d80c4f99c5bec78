# file: src/protocol/replica.c
# what: a clock is said although updates wait behind an entry under way
# run: exhaustive --scenario "replicate 1:keep,push,push,clock 0:clock,bound,pull"
/^void replica_changed/,/^}/ s/clocks_unsent(s, r);/if (!r->sync) clocks_unsent(s, r);/
