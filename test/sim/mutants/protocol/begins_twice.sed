# file: src/protocol/replica.c
# what: two intents of one node count as one
/^void replica_unwant/,/^}/ s/state->wanted--;/state->wanted = 0;/
