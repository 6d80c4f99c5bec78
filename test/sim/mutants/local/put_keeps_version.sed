# file: src/store/row.c
# what: a row comes back with the version that it always has
/^int row_put/,/^}/ s/fresh_version(s.partition)/1/
