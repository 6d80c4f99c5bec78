# file: src/protocol/owner.c
# what: the owner's own intent does not count
# by: exhaustive
/^static struct holder \*only_one_who_wants/,/^}/ s/!is_wanted(s, r->index)/true/
