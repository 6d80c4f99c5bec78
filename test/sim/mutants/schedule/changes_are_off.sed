# file: src/scheduling/scheduler.c
# what: a variable has the change of the one before
# run: schedule --seed 2
s/s->row\[1 + i\]/s->row[i]/
