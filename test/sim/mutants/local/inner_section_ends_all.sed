# file: src/store/store.h
# what: the end of an inner section ends the outer one
# run: local_fibers --seed 49
s/if (--r->depth > 0 || r->is_alone) return;/r->depth--; if (!r->record.active) return;/
