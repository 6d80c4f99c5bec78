# file: src/protocol/owner.c
# what: the owner's own intent does not count
# run: exhaustive --scenario "adaptive 1:begin,end,begin 0:begin"
/^static struct holder \*only_one_who_wants/,/^}/ s/!is_wanted(s, r->index)/true/
