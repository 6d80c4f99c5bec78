# file: src/protocol/replica.c
# what: who gets a row still counts as a holder at the node that gave it
# run: exhaustive --scenario "adaptive 1:begin,end,begin 0:begin"
/^void replica_row_is_here/,/^}/ s/r->registered = .*;/r->registered = true;/
