# file: src/store/change.h
# what: a replica does not remember what it was before a copy changed it
# run: copies --seed 9
/^static inline void fold_at/,/^}/s/if (unsent && is_first) floats_copy(unsent, row, p->length);//
