# file: src/store/row.c
# what: a reader that lost slack copies without the latch
# run: local_fibers --seed 8
/^static int read_latched/,/^}/ {
s/= latch_here([^)]*)/= directory_load(row_ref_word(s)) | DIRECTORY_LATCH/
s/directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);//
}
