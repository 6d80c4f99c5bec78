# file: src/store/row.c
# what: a first edit does not exclude other writers
# run: local_fibers --seed 1
/^int row_edit_slowly/,/^}/ s/= latch_or_copies([^)]*)/= directory_load(row_ref_word(s)) == 0 ? DIRECTORY_LATCH : latch_or_copies(s, mine)/
