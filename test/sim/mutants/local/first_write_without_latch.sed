# file: src/store/row.c
# what: two first writes of a key do not exclude each other
# run: local_fibers --seed 5
/^static int write_slowly/,/^}/ s/= latch_beside(s)/= directory_load(row_ref_word(s)) == 0 ? DIRECTORY_LATCH : latch_beside(s)/
