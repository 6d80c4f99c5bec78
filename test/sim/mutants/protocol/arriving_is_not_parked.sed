# file: src/protocol/location.c
# what: requests for a row that is on its way here go on to its home
# by: exhaustive
/^const char \*location_pass_on/,/^}/ s/if (l.owner == s->rank)/if (l.owner == s->rank) l.owner = spot_home(store_spot(s->store, e->key));\n    &/
