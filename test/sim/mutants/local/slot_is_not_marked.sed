# file: src/store/slab.c
# what: a slot is handed out twice
# run: local_fibers --seed 1
s/s->taken\[slot \/ 64\] |= .*;/(void)0;/
