# file: src/store/rows.c
# what: a batch does not say that a row is elsewhere
# run: local_fibers --seed 1
s/^\( *\)misses++;/\1;/
