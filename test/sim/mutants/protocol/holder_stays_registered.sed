# file: src/protocol/owner.c
# what: a holder whose last intent ended stays one
# run: exhaustive --scenario "adaptive 1:begin,end,begin 0:begin"
/^static void merge/,/^}/ s/holders_remove(r, ref, e->origin);/(void)ref;/
