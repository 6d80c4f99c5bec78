# file: src/store/copies.c
# what: one worker alone can give a row copies
# run: copies --seeds 6000
s/t->word == word \&\& t->worker != c/t->word == word/
