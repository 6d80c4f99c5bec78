# file: src/store/copies.c
# what: the shard does not hear that a copy has changed its row
# run: copies --seed 34
/^static directory_word fold(/,/^}/s/^    add_if_clean(copy->row, w);//
