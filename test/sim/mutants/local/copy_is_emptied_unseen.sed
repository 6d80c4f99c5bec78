# file: src/store/copies.c
# what: an emptied copy takes its updates along
# run: copies --seeds 6000
/^static bool empty_slot(/,/^}/s/fold(c, copy, w)/false/
