# file: src/store/row.c
# what: a row is taken out under a writer
# run: local_fibers --seed 4
/^int row_take/,/^}/ s/= latch_here([^)]*)/= directory_load(row_ref_word(s)) | (directory_state(directory_load(row_ref_word(s))) != DIRECTORY_ELSEWHERE)/
