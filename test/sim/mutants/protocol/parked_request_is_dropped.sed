# file: src/protocol/dispatch.c
# what: of two requests that wait for a row the first is forgotten
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push 2:localize"
/^static const char \*park(/,/^}/ s/r->parked->last->next = p;/r->parked = p;/
