# file: src/store/optimizer.c
# what: a copy of values of 16 bits is added to the row as if it had kept what it has added
# run: copies --seed 12
/^static void fold_halves(/,/^}/s/ROW_MERGE, f.delta/ROW_MERGE, other_unsent/
