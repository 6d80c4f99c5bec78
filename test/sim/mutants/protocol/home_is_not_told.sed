# file: src/protocol/location.c
# what: the home does not hear of a row that moved
# run: exhaustive --scenario "0:localize 1:localize 2:localize"
/^void location_announce/,/^}/ s/home == s->rank ||/true ||/
