# file: src/store/copies.c
# what: an emptied copy takes its updates along
# run: copies --seed 1
/^static directory_word empty_slot(/,/^}/s/fold(c, copy, w)/w/
