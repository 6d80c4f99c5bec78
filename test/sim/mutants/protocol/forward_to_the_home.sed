# file: src/protocol/dispatch.c
# what: a request is forwarded to the key's home, not to whom we know as its owner
# run: protocol --seed 1 --nodes 0 --script intents --technique adaptive --schedule 0
/^static const char \*forward(/,/^}/ s/^{/{\n    unsigned home = row_ref_home(store_row_ref(s->store, e->key)); if (home != s->rank) to.owner = home;/
