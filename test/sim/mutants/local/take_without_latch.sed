# file: src/store/row.c
# what: a row is taken out under a writer
/^int row_take/,/^}/ s/= latch_here([^)]*)/= directory_load(spot_word(s)) | (directory_state(directory_load(spot_word(s))) != DIRECTORY_ELSEWHERE)/
