# file: src/store/copies.c
# what: others are told of all that is done but what is in copies
# run: copies --seed 4
/^void copies_fold_all(/,/^}/s/w = fold(c, copy, w);//
