# file: src/protocol/dispatch.c
# what: requests for a row that is on its way here go on to its home
# by: exhaustive
/^static const char \*pass_on/,/^}/ s/^{/{\n    if (l.owner == s->rank) l.owner = row_ref_home(a->ref);/
