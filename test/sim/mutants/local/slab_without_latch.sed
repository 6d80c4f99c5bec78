# file: src/store/slab.c
# what: two threads may take the same slot
/^uint64_t slab_take/,/^}/ s/^    latch_take(&s->latch);//
