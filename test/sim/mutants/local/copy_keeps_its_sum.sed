# file: src/store/copies.c
# what: what was added to the row stays in the copy
# run: copies --seed 1
/^static directory_word fold(/,/^}/s/    copy->is_dirty = false;//
