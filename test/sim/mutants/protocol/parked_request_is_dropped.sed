# file: src/protocol/handover.c
# what: of two requests that wait for a row the first is forgotten
# by: exhaustive
/^const .*park(struct/,/^}/ s/r->parked->last->next = p;/r->parked = p;/
