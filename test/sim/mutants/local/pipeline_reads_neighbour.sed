# file: src/store/rows.c
# what: a batch accesses the row of another key that it has located
# run: local_fibers --seed 1
s/return (struct row_ref){p->partition\[i % WORD_AHEAD\], p->index\[i % WORD_AHEAD\]};/return (struct row_ref){p->partition[i % WORD_AHEAD], p->index[(i \& ~(size_t)1) % WORD_AHEAD]};/
