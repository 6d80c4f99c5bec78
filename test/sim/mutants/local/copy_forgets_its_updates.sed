# file: src/store/copies.c
# what: a renewed copy has not the updates that the row got from it
# run: copies --seed 1
/^static directory_word exchange_held(/,/^}/{s/    w = fold(c, copy, w);//;s/^    renew(c, copy, w, directory_version(w));/&\n    w = fold(c, copy, w);/}
