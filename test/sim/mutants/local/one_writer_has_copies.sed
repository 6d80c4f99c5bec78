# file: src/store/copies.c
# what: one worker alone can give a row copies
# run: copies --seed 16
s/t->word == word \&\& t->worker != c/t->word == word/
