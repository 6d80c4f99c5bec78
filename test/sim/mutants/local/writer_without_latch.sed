# file: src/store/row.h
# what: a writer does not take the latch
# run: local_fibers --seed 4
s/!row_try_latch(s, word, w)/false/
