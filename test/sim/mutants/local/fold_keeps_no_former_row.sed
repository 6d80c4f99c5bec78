# file: src/store/copies.c
# what: a replica does not remember what it was before a copy changed it
# run: copies --seed 9
/^static directory_word fold(/,/^}/s/if (unsaid \&\& is_first) floats_copy(unsaid, row, p->length);//
