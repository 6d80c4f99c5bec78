# file: src/protocol/location.c
# what: of two requests that wait for a row the first is forgotten
# by: exhaustive
/^static .*park(struct/,/^}/ s/r->parked_last->next = p;/r->parked_first = p;/
