# file: src/protocol/location.c
# what: a request is forwarded to the key's home, not to whom we know as its owner
/^static void forward(/,/^}/ s/^{/{\n    unsigned home = spot_home(store_spot(s->store, e->key)); if (home != s->rank) to.owner = home;/
