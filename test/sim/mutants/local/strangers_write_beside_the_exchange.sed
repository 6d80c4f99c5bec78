# file: src/store/row_private.h
# what: who changes a row with copies does not hold its word
# run: copies --seed 8
/^static inline directory_word latch_beside(/,/^}/s/(w = copies_hold_word(row_ref_word(s)))/(w |= DIRECTORY_LATCH)/
