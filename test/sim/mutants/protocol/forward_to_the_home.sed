# file: src/protocol/location.c
# what: a request is forwarded to the key's home, not to whom we know as its owner
/^static void forward(/,/^}/ s/^{/{\n    unsigned home = row_ref_home(store_row_ref(s->store, e->key)); if (home != s->rank) to.owner = home;/
