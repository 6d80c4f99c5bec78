# file: src/scheduling/scheduler.c
# what: a round is done before the last worker says so
# run: schedule --seed 1
s/s->row\[0\] < (float)s->workers)/s->row[0] < (float)s->workers - 1)/
