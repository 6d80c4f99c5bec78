# file: src/protocol/owner.c
# what: a row that moves keeps its term
# run: exhaustive --scenario "0:localize,push 1:localize,push"
/^static void give(/,/^}/ s/ : first) + 1;/ : first) + (state->term == 0);/
