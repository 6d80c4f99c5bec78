# file: src/store/copies.c
# what: what was added to the row stays in the copy
# run: copies --seeds 6000
/^static bool fold(/,/^}/s/    copy->is_dirty = false;//
