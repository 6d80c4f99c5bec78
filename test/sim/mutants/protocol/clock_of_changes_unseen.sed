# file: src/protocol/round.c
# what: a clock is said without a look at the changes
# run: exhaustive --scenario "adaptive 1:begin,push,clock,bound 0:begin,clock"
/^uint64_t round_turn/,/^}/ s/if (dirty_rows_wait(s)) round_take_changes(s);//
