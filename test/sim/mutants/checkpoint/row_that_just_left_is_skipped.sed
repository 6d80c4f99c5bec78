# file: src/api/home_rows.c
# what: a row that leaves between the look at its word and its reading is in no checkpoint
# run: checkpoint --seed 135
s/^        return look_elsewhere(walk, key); .*/        return 0;/
