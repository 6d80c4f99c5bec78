# file: src/protocol/replica.c
# what: with relocation the owner never hears that a keep is taken back
# run: --script kept
/^static bool must_end/,/^}/ s/return r->is_kept && !state->is_kept;/return false;/
