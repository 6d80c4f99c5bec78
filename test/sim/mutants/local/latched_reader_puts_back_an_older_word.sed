# file: src/store/row.c
# what: a reader that had latched the row puts back an older word than the one it latched
# run: local_fibers --seed 773
/^static int read_latched/,/^}/ s/directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH)/directory_publish(row_ref_word(s), (w \& ~DIRECTORY_LATCH) - DIRECTORY_VERSION_ONE)/
