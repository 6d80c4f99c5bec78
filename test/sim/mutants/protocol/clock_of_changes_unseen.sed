# file: src/protocol/round.c
# what: a clock is said without a look at the changes
# by: exhaustive
/^uint64_t round_turn/,/^}/ s/if (dirty_rows_wait(s)) take_dirty(s);//
