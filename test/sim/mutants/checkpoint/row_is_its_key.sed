# file: src/checkpoint/home_rows.c
# what: a row is written under the number of its key, not of its place in the table
s/walk->table, key - walk->of->first, values/walk->table, key, values/
