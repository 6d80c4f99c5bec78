# file: src/store/row.h
# what: a row is edited without its latch
/^static inline int row_edit(/,/^}/ s/ || !directory_try_latch(s.word, w)//
