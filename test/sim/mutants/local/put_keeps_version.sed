# file: src/store/row.c
# what: a row comes back with the version that it always has
# run: local_fibers --seed 1823
/^int row_put/,/^}/ s/fresh_version(s.partition)/1/
