# file: src/store/row.h
# what: a row is edited without its latch
# run: local_fibers --seed 8
/^static inline .* row_edit(/,/^}/ s/ || !row_try_latch(s, word, w)//
