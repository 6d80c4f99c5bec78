# file: src/store/copies.c
# what: the end of copies does not hold the word meanwhile
# run: copies --seed 1
/^directory_word copies_hold_word(/,/^}/s/w | DIRECTORY_WAITERS, false/w, false/
