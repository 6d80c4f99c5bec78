# file: src/checkpoint/home_rows.c
# what: a row that leaves between the look and the copy is in no checkpoint
s/if (row_read(ref, values) < 0) return look_elsewhere(walk, key);.*/if (row_read(ref, values) < 0) return 0;/
