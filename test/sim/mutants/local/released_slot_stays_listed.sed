# file: src/store/slab.c
# what: a slot that left and is used again is still offered
# run: local_fibers --seed 8
s/bitset_remove(&s->released, slot);/(void)0;/
