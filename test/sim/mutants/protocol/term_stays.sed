# file: src/protocol/handover.c
# what: a row that moves keeps its term
# by: exhaustive
/^void handover_give/,/^}/ s/state->term + 1;/state->term + (state->term == 0);/
