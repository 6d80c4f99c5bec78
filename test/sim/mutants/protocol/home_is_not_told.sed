# file: src/protocol/owner.c
# what: the home does not hear of a row that moved
# run: exhaustive --scenario "0:localize 1:localize 2:localize"
/^static void announce(/,/^}/ s/home == s->rank ||/true ||/
