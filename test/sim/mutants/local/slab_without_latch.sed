# file: src/store/slab.c
# what: two threads may take the same slot
# run: local_fibers --seed 346
/^uint64_t slab_take/,/^}/ s/^    latch_take(&s->latch);//
