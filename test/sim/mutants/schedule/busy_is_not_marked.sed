# file: src/scheduling/schedule.c
# what: a variable that is under way is a candidate
# run: schedule --seed 1
s/^    set_busy(s, \*local);/    (void)local;/
