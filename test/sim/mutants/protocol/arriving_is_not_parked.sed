# file: src/protocol/dispatch.c
# what: requests for a row that is on its way here go on to its home
# run: exhaustive --scenario "0:localize 1:localize 2:localize"
/^static const char \*pass_on/,/^}/ s/^{/{\n    if (l.owner == s->rank) l.owner = row_ref_home(a->ref);/
