# file: src/store/row.h
# what: a row is edited without its latch
/^static inline bool row_edit_own(/,/^}/ s/ || !row_try_latch(s, w)//
