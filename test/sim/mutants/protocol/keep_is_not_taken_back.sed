# file: src/protocol/replica.c
# what: with relocation the owner never hears that a keep is taken back
# run: protocol --seed 14 --nodes 0 --script kept --technique relocate --schedule 0
/^static bool must_end/,/^}/ s/return r->is_kept && !state->is_kept;/return false;/
