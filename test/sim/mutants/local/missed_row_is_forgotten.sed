# file: src/store/rows.c
# what: a batch does not say that a row is elsewhere
s/^\( *\)misses++;/\1;/
