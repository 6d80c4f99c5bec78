# file: src/protocol/owner.c
# what: a replica becomes the row, although it has not got what others wrote to that
# by: exhaustive
/^static void serve_entry/,/^}/ s/fresh = fresh && is_still_fresh(r, spot, e, &then);/then = row_word(spot), fresh = fresh \&\& is_still_fresh(r, spot, e, \&(directory_word){0});/
/^static void serve_entry/,/^}/ s/handover_give(s, spot, e, fresh ? &then : NULL)/handover_give(s, spot, e, e->version ? \&then : NULL)/
