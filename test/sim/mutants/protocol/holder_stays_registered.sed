# file: src/protocol/owner.c
# what: a holder whose last intent ended stays one
# by: exhaustive
/^static void merge/,/^}/ s/if (e->flags & WIRE_END) holders_remove/if (false) holders_remove/
