# file: src/protocol/location.c
# what: the home does not hear of a row that moved
# by: exhaustive
/^void location_announce/,/^}/ s/home == s->rank ||/true ||/
