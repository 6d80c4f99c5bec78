# file: src/protocol/handover.c
# what: of two requests that wait for a row the first is forgotten
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push 2:localize"
/^const .*park(struct/,/^}/ s/r->parked->last->next = p;/r->parked = p;/
