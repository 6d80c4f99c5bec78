# file: src/store/row.c
# what: a row is taken out under a writer
/^int row_take/,/^}/ s/= latch_here([^)]*)/= directory_load(s.word) | (directory_state(directory_load(s.word)) != DIRECTORY_ELSEWHERE)/
