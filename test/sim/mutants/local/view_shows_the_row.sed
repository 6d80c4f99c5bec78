# file: src/store/row.c
# what: a view of a row with copies shows the row
# run: copies --seed 3
s/if (!mine || !directory_has_copies(w)) return row_at/return row_at/
