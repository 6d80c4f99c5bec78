# file: src/protocol/replica.c
# what: two intents of one node count as one
# run: protocol --seed 5 --nodes 0 --script early --technique adaptive --schedule 0
/^void replica_unwant/,/^}/ s/state->wanted--;/state->wanted = 0;/
