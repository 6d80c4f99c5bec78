# file: src/protocol/owner.c
# what: a holder whose last intent ended stays one
# by: exhaustive
/^static void merge/,/^}/ s/holders_remove(r, ref, e->origin);/(void)ref;/
