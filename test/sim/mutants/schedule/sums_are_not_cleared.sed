# file: src/scheduling/scheduler.c
# what: a round begins with the sums of another
# run: schedule --seed 1
s/int rc = clear(s, slot);/int rc = 0;/
