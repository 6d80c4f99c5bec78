# file: src/store/row_replica.c
# what: the owner is told what a replica has become instead of what it has gained
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static uint32_t take_updates/,/^}/ s/p->gain(.*);/floats_copy(updates, slot_row(p, w), p->length);/
