# file: src/store/store.c
# what: the slot of a row that left gets a new tenant while sections are open
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^void mover_free/,/^}/ s/^{/{\n    slab_give(\&p->slab, slot); (void)m; return;/
