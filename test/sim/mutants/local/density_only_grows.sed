# file: src/store/slab.c
# what: bytes of rows that left are still counted
s/count_density(s, 0, -(int64_t)s->row_bytes)/(void)0/
