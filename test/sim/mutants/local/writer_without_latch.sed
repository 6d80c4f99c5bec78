# file: src/store/row.h
# what: a writer does not take the latch
s/!row_try_latch(s, word, w)/false/
