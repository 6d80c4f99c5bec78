# file: src/protocol/replica.c
# what: what was never here is taken for held, and its intent is not said
# run: protocol --seed 5 --nodes 0 --script early --technique adaptive --schedule 0
/^static bool is_known_to_be_held/,/^}/ s/return state->term > 0;/return true;/
