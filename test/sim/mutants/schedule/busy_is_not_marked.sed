# file: src/scheduling/candidates.c
# what: a variable that is under way is a candidate
# run: schedule --seed 1
s/^    set_busy(c, \*variable);/    (void)variable;/
