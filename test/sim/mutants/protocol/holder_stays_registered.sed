# file: src/protocol/owner.c
# what: a holder whose last intent ended stays one
# by: exhaustive
/^static void merge/,/^}/ s/if (e->flags & WIRE_END) remove_holder/if (false) remove_holder/
