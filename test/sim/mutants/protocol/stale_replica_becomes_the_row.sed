# file: src/protocol/owner.c
# what: a replica becomes the row, although it has not got what others wrote to that
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,end"
/^static void take_sync/,/^}/ s/fresh = fresh && is_still_fresh(r, ref, e, &then);/then = row_word(ref), fresh = fresh \&\& is_still_fresh(r, ref, e, \&(directory_word){0});/
/^static void take_sync/,/^}/ s/give(s, ref, e, fresh ? &then : NULL/give(s, ref, e, e->version ? \&then : NULL/
