# file: src/store/slab.c
# what: bytes of rows that left are still counted
# run: local_fibers --seed 3
s/count_density(s, 0, -(int64_t)s->row_bytes)/(void)0/
