# file: src/protocol/owner.c
# what: the last holder gets the row, though it keeps it for ever
# run: exhaustive --scenario "adaptive 0:keep 1:keep,push"
/^static struct holder \*only_one_who_wants/,/^}/ s/ && !r->holder\[0\].is_kept//
