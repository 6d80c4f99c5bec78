# file: src/store/row.c
# what: a row comes back with the version that it always has
# run: local_fibers --seed 1823
/^void row_adopt(/,/^}/ s/fresh_version(s.partition)/1/
