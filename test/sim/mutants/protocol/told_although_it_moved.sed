# file: src/protocol/replica.c
# what: who gets a row still counts as a holder at the node that gave it
# by: exhaustive
/^void replica_row_is_here/,/^}/ s/r->registered = .*;/r->registered = true;/
